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
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import astuple, dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Literal

import numpy as np

from ranking.constitutional import is_constitutional
from ranking.explain import Estimator, Explanation, evidence
from ranking.mmr import DEFAULT_LAMBDA, Floats, Vector, diversify, likeness, mmr_applies
from ranking.recency import age_days, recency
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
    gamma: float = 0.015
    """Of recency: 0.75 % either way, so that the freshest does not pass the oldest one place above it at the top."""
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
    vector: Vector | None = None


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
    other_order: tuple[str, ...] | None = None
    """What the estimator that does not rank would have made of it; null as `reranked_order`."""

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
    final_scores = scores.by(settings.estimator)
    final, other = (
        climb(order, by, protected=scores.protected, walls=scores.pinned, max_places=settings.max_places)
        for by in (final_scores, scores.by(_OTHER[settings.estimator]))
    )
    return Reranked(
        mode=settings.mode,
        ranker_id=ranker_id(settings),
        base_order=base,
        reranked_order=tuple(items[place].anchor for place in final),
        explanations=Waterfalls(scores, order, final, final_scores),
        other_order=tuple(items[place].anchor for place in other),
    )


_OTHER: dict[Estimator, Estimator] = {"spec": "calibrated", "calibrated": "spec"}


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
    limit = settings.max_effect
    if settings.estimator == "calibrated":
        z = settings.beta * prior.calibrated.z if prior.calibrated else 0.0
        bound = math.log1p(limit)
        effect = 0.0 if z == 0.0 else math.expm1(-bound if z < -bound else bound if z > bound else z)
        rule = "interval" if z else "no_evidence"
    else:
        lift = settings.beta * prior.spec.prior
        effect = -limit if lift < -limit else limit if lift > limit else lift
        rule = prior.spec.branch
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
        self.settings = settings
        self.relevance = relevance_of(items)
        self.pinned = {place for place, item in enumerate(items) if item.is_pinned}
        self.constitutional = {
            place
            for place, item in enumerate(items)
            if not item.stale and is_constitutional(item.doc_kind, item.authority, item.path)
        }
        self.protected = self.pinned | self.constitutional
        self.parts = [_parts(item, share, now, settings) for item, share in zip(items, self.relevance, strict=True)]
        self.neutral = [
            share + authority + fresh + stale
            for share, (authority, fresh, stale) in zip(self.relevance, self.parts, strict=True)
        ]
        self.priors = {place: prior for place, item in enumerate(items) if (prior := priors.get(item.anchor))}
        self.mmr = np.zeros(len(items))

    def by(self, estimator: Estimator) -> list[float]:
        """Return every item's score with the consumption that one estimator sees in it."""
        scores: list[float] = (self.neutral + self.mmr).tolist()
        settings = replace(self.settings, estimator=estimator)
        for place, prior in self.priors.items():
            effect, _ = prior_effect(prior, settings, constitutional=place in self.constitutional)
            scores[place] += effect * self.relevance[place]
        return scores

    def effect(self, place: int) -> tuple[float, str]:
        """Return the share of its relevance that an item's prior adds or takes, and the rule that decided it."""
        return prior_effect(self.priors[place], self.settings, constitutional=place in self.constitutional)

    def diversify(self, order: Sequence[int], limit: int, lambda_: float) -> list[int]:
        """Return the neutral order with near-duplicates apart; protected items keep their place or rise."""
        like = likeness([self.items[item].keywords for item in order], [self.items[item].vector for item in order])
        latest = {place: place for place, item in enumerate(order) if item in self.protected}
        spread = diversify([self.neutral[item] for item in order], like, limit=limit, lambda_=lambda_, latest=latest)
        self.mmr[list(order)] = spread.penalties
        return [order[place] for place in spread.order]


class Waterfalls(Mapping[str, Explanation]):
    """The explanations of one rerank by anchor, in its order; each is written when it is asked for."""

    def __init__(
        self, scores: _Scores, neutral: Sequence[int], final: Sequence[int], final_scores: Sequence[float]
    ) -> None:
        self._scores = scores
        self._final_scores = final_scores
        self._without = {item: rank for rank, item in enumerate(neutral, start=1)}
        self._places = {scores.items[item].anchor: (rank, item) for rank, item in enumerate(final, start=1)}

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, anchor: str) -> Explanation:
        rank, place = self._places[anchor]
        scores = self._scores
        authority, fresh, stale = scores.parts[place]
        relevance, prior = scores.relevance[place], scores.priors.get(place)
        effect, rule = scores.effect(place) if prior else (0.0, "")
        return Explanation(
            anchor=anchor,
            rank=rank,
            base_rank=place + 1,
            rank_without_prior=self._without[place],
            parts={
                "base": relevance,
                "authority": authority,
                "recency": fresh,
                "stale": stale,
                "mmr": float(scores.mmr[place]),
                "prior": effect * relevance,
            },
            score=self._final_scores[place],
            protected=place in scores.protected,
            prior=evidence(prior, scores.settings.estimator, effect, rule) if prior else None,
        )


def _parts(item: RankItem, relevance: float, now: datetime, settings: RerankSettings) -> tuple[float, float, float]:
    """Return what authority, freshness and staleness add."""
    authority = settings.alpha * (AUTHORITY_BOOST.get(item.authority, 1.0) - 1.0)
    fresh = settings.gamma * (recency(item.doc_kind, age_days(item.updated_at, now)) - 0.5)
    return authority * relevance, fresh * relevance, -settings.delta * relevance if item.stale else 0.0


def relevance_of(items: Sequence[RankItem]) -> list[float]:
    """Return each item's base score over the best one's, in (0, 1], never rising along the base order.

    A ratio, not min-max: it keeps near ties near and does not depend on how far down the pool reaches. Pinned items
    count 1; a pool without positive scores falls back to 1/(60 + rank).
    """
    scores = [0.0 if item.is_pinned else item.base_score for item in items]
    best = max(scores)
    if best <= 0.0 or not math.isfinite(sum(scores)):
        return [61.0 / (60.0 + rank) for rank in range(1, len(items) + 1)]
    relevance: list[float] = []
    ceiling = 1.0
    for item, score in zip(items, scores, strict=True):
        if score < ceiling * best and not item.is_pinned:
            ceiling = max(score / best, 1e-6)
        relevance.append(ceiling)
    return relevance
