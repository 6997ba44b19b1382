"""How much an edge of the knowledge graph weighs: what kind it is, and how often agents walked it lately.

    weight(A -> B) = base(relation) + lambda x walks in 30 days x T / (T + days since the last walk)

A walk is: a graph step shows A, the agent opens A, a later graph step shows B, the agent opens B. Opening B out of
the first sub-graph is no walk: it says that B was on the list, not that A led there.
Source: F200 "graph edge-level weights", KD-10, AC-C7.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from streams.recall import RecallEvent

BASE: dict[str, float] = {
    "wikilink": 1.0,
    "doc_link": 0.9,
    "feature_ref": 1.1,
    "related_to": 0.8,
    "evolved_from": 1.0,
    "blocked_by": 0.7,
}
"""Weight by relation before any walk; the last three are not in the specification."""

OTHER_BASE = 1.0
WALK_WEIGHT = 0.05
HALF_LIFE_DAYS = 30.0
WINDOW_DAYS = 30
GRAPH_TOOL = "graph_resolve"


@dataclass(frozen=True, slots=True)
class Walk:
    """One agent's way from one document to the next through the graph."""

    source: str
    target: str
    at: datetime
    """When the target was opened."""
    invocation_id: str


def edge_weight(
    relation: str,
    walk_ages_days: Collection[float],
    *,
    walk_weight: float = WALK_WEIGHT,
    half_life_days: float = HALF_LIFE_DAYS,
    window_days: float = WINDOW_DAYS,
) -> float:
    """Return the weight of an edge of this relation that was walked so many days ago; > 0."""
    recent = [age for age in walk_ages_days if age <= window_days]
    base = BASE.get(relation, OTHER_BASE)
    if not recent:
        return base
    return base + walk_weight * len(recent) * half_life_days / (half_life_days + max(0.0, min(recent)))


def walks(recalls: Iterable[RecallEvent]) -> list[Walk]:
    """Return the walks of these searches, each pair of documents once an invocation, by time."""
    by_invocation: dict[str, list[RecallEvent]] = defaultdict(list)
    for recall in recalls:
        if recall.tool == GRAPH_TOOL:
            by_invocation[recall.invocation_id].append(recall)
    found = [walk for steps in by_invocation.values() for walk in _walks_of(steps)]
    return sorted(found, key=lambda walk: (walk.at, walk.source, walk.target))


def _walks_of(steps: Sequence[RecallEvent]) -> Iterable[Walk]:
    found: dict[tuple[str, str], Walk] = {}
    opened = sorted(
        (consumption.consumed_at, consumption.anchor, step.occurred_at)
        for step in steps
        for consumption in step.consumed
        if consumption.rank is not None
    )
    for read_at, source, _ in opened:
        for later_at, target, stepped_at in opened:
            if target != source and read_at <= stepped_at < later_at:
                found.setdefault((source, target), Walk(source, target, later_at, steps[0].invocation_id))
    return found.values()
