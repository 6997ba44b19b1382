"""Logged searches ranked again under other weights, for a replay.

A log keeps the base order of a search, not its scores, and no age: relevance is taken from the rank, and freshness is
neutral. Priors are those of the instant before the first search, so that no search helps to predict itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ranking.anchors import AnchorFacts
from ranking.counterfactual import Replay, ReplayRules, consumed_mrr, replay
from ranking.evidence import Search, randomised
from ranking.propensity import PropensityFit, estimate
from ranking.rerank import RankItem, RerankSettings, ranker_id, rerank
from streams.recall import AnchorPrior


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What one ranker would have earned."""

    config: str
    ranker_id: str
    """Empty for the base order."""
    estimate: Replay
    replayed_mrr: float | None
    """Plain replay, which prefers the ranker that wrote the log."""
    changed: int
    """Searches whose order differs from the base order."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Rankers on the same logged searches."""

    searches: int
    propensities: PropensityFit
    trials: tuple[Trial, ...]


def settings_of(config: str) -> RerankSettings:
    """Return the weights that a configuration names: `base`, `spec`, `calibrated`, or a JSON object of fields.

    Raises:
        ValueError: naming what was expected and what came.
    """
    if config == "base":
        return RerankSettings(mode="off")
    fields: dict[str, Any] = {"estimator": config}
    if config not in ("spec", "calibrated"):
        try:
            fields = msgspec.json.decode(config, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise ValueError(f"expected base, spec, calibrated, or a JSON object, got {config!r}: {error}") from None
    try:
        return msgspec.convert({"mode": "on"} | fields, RerankSettings, strict=True)
    except msgspec.ValidationError as error:
        raise ValueError(f"{config}: {error}") from None


def compare(
    searches: Sequence[Search],
    priors: Mapping[str, AnchorPrior],
    facts: Mapping[str, AnchorFacts],
    configs: Sequence[str],
    *,
    rules: ReplayRules | None = None,
) -> Comparison:
    """Replay each configuration on the searches; examination chances come from the interleaved ones among them."""
    fit = estimate(randomised(searches))
    logged = [search.logged() for search in searches]
    trials = []
    for config in configs:
        settings = settings_of(config)
        orders = [order_of(search, priors, facts, settings) for search in searches]
        trials.append(
            Trial(
                config=config,
                ranker_id=ranker_id(settings) if settings.mode == "on" else "",
                estimate=replay(logged, orders, _every_rank(fit, logged), rules=rules),
                replayed_mrr=consumed_mrr(logged, orders),
                changed=sum(
                    tuple(order) != tuple(_pool(search)) for order, search in zip(orders, searches, strict=True)
                ),
            )
        )
    return Comparison(searches=len(searches), propensities=fit, trials=tuple(trials))


def order_of(
    search: Search, priors: Mapping[str, AnchorPrior], facts: Mapping[str, AnchorFacts], settings: RerankSettings
) -> tuple[str, ...]:
    """Return the order that a ranker would have given one logged search."""
    items = []
    for rank, anchor in enumerate(_pool(search), start=1):
        prior, fact = priors.get(anchor), facts.get(anchor, AnchorFacts())
        kind = fact.kind or (prior.doc_kind if prior else "")
        items.append(
            RankItem(
                anchor=anchor,
                doc_kind=kind,
                base_score=1 / (60 + rank),
                base_rank=rank,
                authority=fact.authority,
                path=fact.path,
            )
        )
    found = rerank(items, priors, now=search.occurred_at, settings=settings, limit=len(search.shown))
    return found.shown


def _pool(search: Search) -> Sequence[str]:
    return search.base_order or search.shown


def _every_rank(fit: PropensityFit, logged: Sequence[Any]) -> dict[int, float]:
    """Return a chance for every rank that was shown: an unfitted one takes that of the deepest fitted rank above."""
    deepest = max((len(search.shown) for search in logged), default=0)
    chances, last = {}, 1.0
    for rank in range(1, deepest + 1):
        last = fit.theta.get(rank, last)
        chances[rank] = last
    return chances
