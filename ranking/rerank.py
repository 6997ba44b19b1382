"""Reorder a pool of search results by authority, freshness and consumption, with relevance dominant.

    score = relevance x (1 + alpha (authority boost - 1) + gamma (recency - 1/2) - delta stale + prior effect) + mmr

Every term is a share of the result's own relevance, which is its base score over the best one's: so the terms live
on one scale in every mode and pool size. The order is built in three stages: the base order; the neutral order
(authority, freshness, staleness, diversity); and the climb, where a result passes a lower-scored neighbour unless it
has moved `max_places` or the neighbour has sunk that far. A constitutional neighbour sinks by nothing. Each stage is a
permutation of the one before: nothing is ever lost. Source: F200 Phase C, KD-2, KD-3; ADR 0601.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import astuple, dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

import numpy as np

from ranking.constitutional import is_constitutional
from ranking.explain import Estimator, Explanation, PriorEvidence, evidence
from ranking.mmr import DEFAULT_LAMBDA, Floats, Similarities, diversify, mmr_applies
from ranking.recency import age_of, recency
from streams.recall import AnchorPrior

Mode = Literal["off", "shadow", "on"]

AUTHORITY_BOOST: dict[str, float] = {"constitutional": 1.3, "validated": 1.2, "candidate": 1.1, "observed": 1.0}
"""Source: F163 authority, as F200 quotes it (1.0 to 1.3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankSettings:
    """Weights and bounds. One place at the top of a list is worth 1.6 % of relevance (RRF, k = 60)."""

    mode: Mode = "off"
    estimator: Estimator = "spec"
    alpha: float = 0.05
    """Of the authority boost: 1.5 % at most, one place."""
    beta: float = 1.0
    """Of the prior: a lift of one point in consumption rate is worth one percent of relevance."""
    gamma: float = 0.02
    """Of recency: 1 % either way, under one place at the top."""
    delta: float = 0.10
    """Of staleness: about six places."""
    max_effect: float = 0.15
    """Largest share of relevance that consumption may add (and 1/1.15 the smallest it may leave)."""
    max_places: int = 3
    """Largest displacement by consumption, up or down."""
    reads_to_lift: float = 2.0
    """Consumptions below which nothing rises: a single reading never lifts (F200, gate condition 3)."""
    mmr_lambda: float = DEFAULT_LAMBDA


@dataclass(frozen=True, slots=True, kw_only=True)
class RankItem:
    """One candidate as the search found it."""

    anchor: str
    doc_kind: str
    base_score: float
    """Sum over the legs of 1/(60 + rank), in every mode; higher is better."""
    base_rank: int
    """1-based; decides the base order, whatever the scores say."""
    authority: str = "observed"
    path: str = ""
    updated_at: datetime | None = None
    stale: bool = False
    """Stale or superseded, and not yet demoted in the base order."""
    is_pinned: bool = False
    """Asked for by its exact id: keeps its place."""
    keywords: tuple[str, ...] = ()
    vector: Sequence[float] | Floats | None = None


@dataclass(frozen=True, slots=True)
class Reranked:
    """Both orders of one search, and why."""

    mode: Mode
    ranker_id: str
    base_order: tuple[str, ...]
    reranked_order: tuple[str, ...] | None
    """Null when no reranker ran: mode `off`, fewer than two results, or priors that could not be read."""
    explanations: Mapping[str, Explanation]
    """By anchor, in the order shown; empty when no reranker ran. In shadow: of the order that was not shown."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The order to show."""
        return self.reranked_order if self.mode == "on" and self.reranked_order else self.base_order


def rerank(
    pool: Sequence[RankItem],
    priors: Mapping[str, AnchorPrior] | None,
    *,
    now: datetime,
    settings: RerankSettings,
    limit: int,
    search_mode: str = "lexical",
) -> Reranked:
    """Return the base order of a pool, the order consumption would give it, and an explanation of each result.

    `pool` holds all candidates, each anchor once, and more than the `limit` that will be shown, so that one from below
    may come into view. `priors` is None when they could not be read: then the base order stands. `search_mode` is the
    effective one; `hybrid` may diversify.
    """
    items = sorted(pool, key=lambda item: item.base_rank)
    base = tuple(item.anchor for item in items)
    if settings.mode == "off" or priors is None or len(items) < 2:
        return Reranked(settings.mode, ranker_id(settings), base, None, {})
    scores = _Scores(items, priors, now, settings)
    order = climb(range(len(items)), scores.neutral, protected=scores.protected, walls=scores.pinned)
    if mmr_applies(len(items), limit, search_mode):
        order = scores.diversify(order, limit, settings.mmr_lambda)
    final = climb(order, scores.final, protected=scores.protected, walls=scores.pinned, max_places=settings.max_places)
    explanations = scores.explain(order, final)
    return Reranked(settings.mode, ranker_id(settings), base, tuple(explanations), explanations)


def climb(
    order: Sequence[int],
    scores: Sequence[float] | Floats,
    *,
    protected: AbstractSet[int],
    walls: AbstractSet[int] = frozenset(),
    max_places: int | None = None,
) -> list[int]:
    """Return `order` with every item moved up past lower-scored ones directly above it.

    No item ends more than `max_places` from where it stood, a protected one never below it, a wall not anywhere else.
    """
    reach = len(order) if max_places is None else max_places
    home = {item: place for place, item in enumerate(order)}
    result: list[int] = []
    for start, item in enumerate(order):
        place, score = start, scores[item]
        top = start if item in walls else max(0, start - reach)
        while place > top:
            above = result[place - 1]
            if scores[above] >= score or place - home[above] > (0 if above in protected else reach):
                break
            place -= 1
        result.insert(place, item)
    return result


def mode_of(flag: str | None) -> Mode:
    """Return the mode that a flag's text asks for; anything that is none of the three is `off`."""
    return "on" if flag == "on" else "shadow" if flag == "shadow" else "off"


@lru_cache(maxsize=256)
def ranker_id(settings: RerankSettings) -> str:
    """Return the name of a ranker: its estimator and a digest of every weight and bound, but not its mode."""
    weights = repr(astuple(settings)[1:]).encode()
    return f"{settings.estimator}-{hashlib.sha256(weights).hexdigest()[:8]}"


def prior_effect(prior: AnchorPrior, settings: RerankSettings, *, constitutional: bool = False) -> tuple[float, str]:
    """Return the share of relevance that consumption adds or takes, bounded, and the rule that decided it."""
    bound = math.log1p(settings.max_effect)
    if settings.estimator == "calibrated":
        z = prior.calibrated.z if prior.calibrated else 0.0
        effect, rule = math.expm1(max(-bound, min(bound, settings.beta * z))), "interval" if z else "no_evidence"
    else:
        worst = -settings.max_effect
        effect, rule = max(worst, min(settings.max_effect, settings.beta * prior.spec.prior)), prior.spec.branch
    if prior.spec.branch == "grace":
        return 0.0, "grace"
    if constitutional:
        effect, rule = max(0.0, effect), "constitutional"
    if effect > 0.0 and prior.consumptions < settings.reads_to_lift:
        return 0.0, "single_read"
    return effect, rule


class _Scores:
    """The waterfall of every item of one pool, by its position in the base order."""

    def __init__(
        self, items: Sequence[RankItem], priors: Mapping[str, AnchorPrior], now: datetime, settings: RerankSettings
    ) -> None:
        self.items = items
        self.relevance = relevance_of(items)
        self.pinned = {place for place, item in enumerate(items) if item.is_pinned}
        constitutional = {
            place
            for place, item in enumerate(items)
            if is_constitutional(item.doc_kind, item.authority, item.path) and not item.stale
        }
        self.protected = self.pinned | constitutional
        self.priors: dict[int, PriorEvidence] = {}
        self.parts: list[tuple[float, float, float]] = []
        self.neutral: list[float] = []
        self.final: list[float] = []
        self.mmr = np.zeros(len(items))
        for place, item in enumerate(items):
            relevance = self.relevance[place]
            authority = settings.alpha * (AUTHORITY_BOOST.get(item.authority, 1.0) - 1.0) * relevance
            fresh = settings.gamma * (recency(item.doc_kind, age_of(item.updated_at, now)) - 0.5) * relevance
            stale = -settings.delta * relevance if item.stale else 0.0
            self.parts.append((authority, fresh, stale))
            self.neutral.append(relevance + authority + fresh + stale)
            self.final.append(self.neutral[-1])
            prior = priors.get(item.anchor)
            if prior is not None:
                effect, rule = prior_effect(prior, settings, constitutional=place in constitutional)
                self.priors[place] = evidence(prior, settings.estimator, effect, rule)
                self.final[place] += effect * relevance

    def diversify(self, order: Sequence[int], limit: int, lambda_: float) -> list[int]:
        """Return the neutral order with near-duplicates apart; protected items keep their place or rise."""
        similarities = Similarities(
            [self.items[item].keywords for item in order], [self.items[item].vector for item in order]
        )
        latest = {place: place for place, item in enumerate(order) if item in self.protected}
        spread = diversify(
            [self.neutral[item] for item in order], similarities, limit=limit, lambda_=lambda_, latest=latest
        )
        for place, item in enumerate(order):
            self.mmr[item] = spread.penalties[place]
        self.final = [score + float(cost) for score, cost in zip(self.final, self.mmr, strict=True)]
        return [order[place] for place in spread.order]

    def explain(self, neutral: Sequence[int], final: Sequence[int]) -> dict[str, Explanation]:
        """Return the waterfall of each item, in the final order."""
        without = {item: place for place, item in enumerate(neutral, start=1)}
        return {
            self.items[place].anchor: self._explanation(place, rank, without[place])
            for rank, place in enumerate(final, start=1)
        }

    def _explanation(self, place: int, rank: int, without: int) -> Explanation:
        authority, fresh, stale = self.parts[place]
        prior = self.priors.get(place)
        relevance = self.relevance[place]
        return Explanation(
            anchor=self.items[place].anchor,
            rank=rank,
            base_rank=place + 1,
            rank_without_prior=without,
            parts={
                "base": relevance,
                "authority": authority,
                "recency": fresh,
                "stale": stale,
                "mmr": float(self.mmr[place]),
                "prior": prior.effect * relevance if prior else 0.0,
            },
            score=self.final[place],
            protected=place in self.protected,
            prior=prior,
        )


def relevance_of(items: Sequence[RankItem]) -> list[float]:
    """Return each item's base score over the best one's, in (0, 1], never rising along the base order.

    A ratio, not min-max: it keeps near ties near and does not depend on how far down the pool reaches. Pinned items
    count 1; a pool without positive scores falls back to 1/(60 + rank).
    """
    scores = [0.0 if item.is_pinned else item.base_score for item in items]
    if any(not math.isfinite(score) for score in scores) or (best := max(scores)) <= 0.0:
        return [61.0 / (60.0 + rank) for rank in range(1, len(items) + 1)]
    relevance: list[float] = []
    ceiling = 1.0
    for item, score in zip(items, scores, strict=True):
        ceiling = ceiling if item.is_pinned else min(ceiling, max(score / best, 1e-6))
        relevance.append(ceiling)
    return relevance
