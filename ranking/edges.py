"""How much an edge of the knowledge graph weighs: what kind it is, and how often agents walked it lately.

    weight(A -> B) = base(relation) + lambda x walks in 30 days x T / (T + days since the last walk)

A walk is: a graph step shows A, the agent opens A, a later graph step shows B, the agent opens B. Opening B out of
the first sub-graph is no walk: it says that B was on the list, not that A led there.
Source: F200 "graph edge-level weights", KD-10, AC-C7.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from streams.recall import Walked

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


@dataclass(frozen=True, slots=True, order=True)
class Opened:
    """A document that a graph step showed and the agent then opened."""

    at: datetime
    anchor: str
    stepped_at: datetime
    """When the graph step was made."""


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


def walks(opened: Mapping[str, Iterable[Opened]]) -> dict[str, tuple[Walked, ...]]:
    """Return the walks out of each document, each target once an invocation, by time; `opened` is by invocation."""
    found: dict[str, list[Walked]] = {}
    for steps in opened.values():
        for (source, target), at in _first_walks(sorted(steps)).items():
            found.setdefault(source, []).append(Walked(target, at))
    return {source: tuple(sorted(ways, key=lambda way: (way.at, way.target))) for source, ways in found.items()}


def _first_walks(steps: Sequence[Opened]) -> dict[tuple[str, str], datetime]:
    first: dict[tuple[str, str], datetime] = {}
    for source in steps:
        for target in steps:
            if target.anchor != source.anchor and source.at <= target.stepped_at < target.at:
                first.setdefault((source.anchor, target.anchor), target.at)
    return first
