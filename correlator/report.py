"""What the window lets through, and what another window would have changed: the figures for choosing its bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from correlator.documents import NO_DOCUMENTS, Documents
from correlator.offline import correlate
from correlator.window import DEFAULT_POLICY, POLICIES, CorrelatorPolicy, WindowPolicy
from streams.events import ToolEvent
from streams.recall import RecallEvent

NO_WINDOW = WindowPolicy(name="whole-invocation", max_distance=10**9, max_elapsed=timedelta.max)
"""No bound but the invocation: what a window can let through at most."""

Key = tuple[str, str]
"""(recall id, anchor) of one consumption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEffect:
    """What one window policy makes of the same events."""

    policy: str
    searches: int
    consumed_searches: int
    """Searches with a consumption of what they showed."""
    consumptions: int
    gained: int
    """Consumptions that the policy in force does not count."""
    lost: int
    """Consumptions that only the policy in force counts."""
    distance_p50: int | None
    distance_p95: int | None
    """Calls from search to consumption that 95 % of consumptions do not exceed; null without consumptions."""
    elapsed_p50_ms: int | None
    elapsed_p95_ms: int | None


def window_report(
    events: Iterable[ToolEvent],
    *,
    surface: str | None = "memory",
    policies: Sequence[WindowPolicy] = POLICIES,
    in_force: CorrelatorPolicy = DEFAULT_POLICY,
    documents: Documents = NO_DOCUMENTS,
) -> list[PolicyEffect]:
    """Return what each policy makes of the events: the one in force first, then the others, then no window at all.

    Source: F200, OQ-1 (run a week in shadow, look at the 95th percentiles, then settle the bounds).

    Args:
        events: Tool events of whole invocations.
        surface: Only searches there; null for all.
        policies: The alternatives.
        in_force: What the others are compared with.
        documents: Indexed documents.
    """
    known = list(events)
    windows = dict.fromkeys([in_force.window, *policies, NO_WINDOW])
    recalls = {
        window: [
            recall
            for recall in correlate(known, policy=replace(in_force, window=window), documents=documents)[0]
            if surface is None or recall.surface == surface
        ]
        for window in windows
    }
    base = _keys(recalls[in_force.window])
    return [_effect(window.name, found, base) for window, found in recalls.items()]


def _keys(recalls: Iterable[RecallEvent]) -> set[Key]:
    return {(recall.recall_id, each.anchor) for recall in recalls for each in recall.consumed if each.rank is not None}


def _effect(name: str, recalls: Sequence[RecallEvent], base: set[Key]) -> PolicyEffect:
    pool = [each for recall in recalls for each in recall.consumed if each.rank is not None]
    keys = _keys(recalls)
    distances = [each.distance for each in pool]
    elapsed = [each.elapsed_ms for each in pool]
    return PolicyEffect(
        policy=name,
        searches=len(recalls),
        consumed_searches=sum(any(each.rank is not None for each in recall.consumed) for recall in recalls),
        consumptions=len(pool),
        gained=len(keys - base),
        lost=len(base - keys),
        distance_p50=percentile(distances, 0.5),
        distance_p95=percentile(distances, 0.95),
        elapsed_p50_ms=percentile(elapsed, 0.5),
        elapsed_p95_ms=percentile(elapsed, 0.95),
    )


def percentile(values: Sequence[int], share: float) -> int | None:
    """Return the smallest value that this share in (0, 1] of the values does not exceed; null without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None
