"""Whether the loop feeds on itself: attention that concentrates, documents that nobody is shown, ranks that never move.

Each figure is a warning, never a term of the ranking. A rise over 30 days is worth a look. Source: facts behind
ADR 0603; Gini 1912.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from scipy.stats import spearmanr


class LoopMonitors(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one window; None where the window holds too little to say."""

    documents: int
    """Documents that are indexed or were shown."""
    exposures: int
    gini: float | None
    """Of exposures over all documents: 0 shared alike, 1 all on one."""
    top_10_share: float | None
    """Exposures that the ten most shown documents take."""
    never_exposed_share: float | None
    rank_1_persistence: float | None
    """Repeated queries whose first result is the one of the time before."""
    prior_rank_correlation: float | None
    """Spearman, between the prior and the base rank: strongly negative means the prior repeats the base order."""
    moved_up_consumption_share: float | None
    """Consumptions of results that stood above their base rank."""


def monitor(
    *,
    exposures: Mapping[str, int],
    indexed: Sequence[str],
    first_results: Sequence[tuple[str, str]],
    prior_and_rank: Sequence[tuple[float, int]],
    consumed_moves: Sequence[int],
) -> LoopMonitors:
    """Return the figures of a window.

    `exposures` are by anchor; `first_results` are (query, anchor on rank 1) by time; `prior_and_rank` one entry an
    exposure; `consumed_moves` are base rank minus shown rank of each consumption.
    """
    documents = set(indexed) | set(exposures)
    counts = np.array(sorted(exposures.get(anchor, 0) for anchor in documents), dtype=np.float64)
    total = int(counts.sum())
    return LoopMonitors(
        documents=len(documents),
        exposures=total,
        gini=gini(counts.tolist()),
        top_10_share=float(counts[-10:].sum() / total) if total else None,
        never_exposed_share=float((counts == 0).mean()) if len(counts) else None,
        rank_1_persistence=_persistence(first_results),
        prior_rank_correlation=_correlation(prior_and_rank),
        moved_up_consumption_share=sum(move > 0 for move in consumed_moves) / len(consumed_moves)
        if consumed_moves
        else None,
    )


def gini(counts: Sequence[float]) -> float | None:
    """Return how unequally counts are shared, in [0, 1); None without any."""
    values = np.sort(np.asarray(counts, dtype=np.float64))
    if not len(values) or values.sum() == 0:
        return None
    places = np.arange(1, len(values) + 1)
    return float((2 * (places * values).sum() / values.sum() - len(values) - 1) / len(values))


def _persistence(first_results: Sequence[tuple[str, str]]) -> float | None:
    last: dict[str, str] = {}
    same = repeated = 0
    for query, anchor in first_results:
        if query in last:
            repeated += 1
            same += last[query] == anchor
        last[query] = anchor
    return same / repeated if repeated else None


def _correlation(pairs: Sequence[tuple[float, int]]) -> float | None:
    priors, ranks = ({pair[side] for pair in pairs} for side in (0, 1))
    if len(priors) < 2 or len(ranks) < 2:
        return None
    return float(spearmanr([pair[0] for pair in pairs], [pair[1] for pair in pairs]).statistic)
