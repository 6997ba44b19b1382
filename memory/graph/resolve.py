"""Which document a graph query means, and what stands around it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from memory.anchors import anchor_key
from memory.index.segment import segment
from memory.search.query import STOP_WORDS
from ranking.constitutional import is_constitutional

MAX_EDGES_PER_NODE = 15
MAX_NODES = 50
MAX_DEPTH = 3
MAX_CANDIDATES = 8
"""Source: F200 DF-11 (caps of the sub-graph and of the candidate list)."""

AUTHORITY: dict[str, float] = {"constitutional": 1.0, "validated": 0.67, "candidate": 0.33}
W_ANCHOR = 2.0
"""A query that names the id beats everything that can be said of the others together."""
W_TITLE, W_FIELD = 0.8, 0.4
W_AUTHORITY, W_EDGES, W_RECENT, W_DORMANT = 0.2, 0.3, 0.15, 0.15

RECENT_HALF_LIFE_DAYS = 30.0
DORMANT_AFTER_DAYS, DORMANT_FULL_DAYS = 30.0, 120.0
"""Between these a document goes from awake to fully dormant."""

_PUNCTUATED = re.compile(r"[^\s,;:，。；：()（）\[\]]+")


@dataclass(frozen=True, slots=True)
class InEdge:
    """An edge that points to a candidate."""

    from_relevance: float
    """How well its source fits the query, in [0, 1]."""
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphCandidate:
    """A document that may be meant."""

    anchor: str
    title: str
    kind: str = ""
    authority: str = "observed"
    path: str = ""
    fields: str = ""
    """Summary and keywords."""
    in_edges: tuple[InEdge, ...] = ()
    degree: int = 0
    """Edges in either direction."""
    days_since_last_consumed: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A candidate with its score, part by part."""

    candidate: GraphCandidate
    match: Literal["anchor", "title", "field", "none"]
    parts: dict[str, float]

    @property
    def score(self) -> float:
        """Sum of the parts."""
        return sum(self.parts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What a query came to: one document, several to choose from, or nothing."""

    status: Literal["graph", "candidates", "no_match"]
    resolved: str | None
    """The anchor that was named exactly; null for candidates, which open nothing."""
    ranked: tuple[Scored, ...]
    note: str | None = None


def resolve(query: str, candidates: Sequence[GraphCandidate]) -> Resolution:
    """Return what a query means. Only an exact id, in any spelling, resolves; anything else offers candidates."""
    scored = sorted((score(query, candidate) for candidate in candidates), key=lambda s: (-s.score, s.candidate.anchor))
    fitting = tuple(item for item in scored if item.match != "none")[:MAX_CANDIDATES]
    key = anchor_key(query)
    exact = next((item for item in fitting if anchor_key(item.candidate.anchor) == key), None)
    if exact is not None:
        note = None if exact.candidate.degree or exact.candidate.in_edges else "no_edges"
        return Resolution(status="graph", resolved=exact.candidate.anchor, ranked=fitting, note=note)
    return Resolution(status="candidates" if fitting else "no_match", resolved=None, ranked=fitting)


def score(query: str, candidate: GraphCandidate) -> Scored:
    """Return how well a candidate fits: text + authority + edges + recent consumption - dormancy."""
    match, text = _text(query, candidate)
    pull = sum(max(0.0, edge.from_relevance) * edge.weight for edge in candidate.in_edges)
    return Scored(
        candidate=candidate,
        match=match,
        parts={
            "text": text,
            "authority": W_AUTHORITY * AUTHORITY.get(candidate.authority, 0.0),
            "edges": W_EDGES * pull / (1.0 + pull),
            "recent": W_RECENT * _recent(candidate.days_since_last_consumed),
            "dormancy": -dormancy_penalty(candidate),
        },
    )


def dormancy_penalty(candidate: GraphCandidate) -> float:
    """Return what a document loses that nobody opened for long; what is constitutional loses nothing."""
    days = candidate.days_since_last_consumed
    if days is None or is_constitutional(candidate.kind, candidate.authority, candidate.path):
        return 0.0
    share = (days - DORMANT_AFTER_DAYS) / (DORMANT_FULL_DAYS - DORMANT_AFTER_DAYS)
    return W_DORMANT * min(1.0, max(0.0, share))


def _recent(days: float | None) -> float:
    return 0.0 if days is None else RECENT_HALF_LIFE_DAYS / (RECENT_HALF_LIFE_DAYS + max(0.0, days))


def _text(query: str, candidate: GraphCandidate) -> tuple[Literal["anchor", "title", "field", "none"], float]:
    """Return the best field that matches, whole tokens only: `W3` is no part of `W31`."""
    key = anchor_key(candidate.anchor)
    if key == anchor_key(query) or key in {anchor_key(word) for word in _PUNCTUATED.findall(query)}:
        return "anchor", W_ANCHOR
    wanted = _tokens(query)
    if not wanted:
        return "none", 0.0
    titled = len(wanted & _tokens(candidate.title)) / len(wanted)
    found = len(wanted & _tokens(candidate.fields)) / len(wanted)
    if titled:
        return "title", W_TITLE * titled + W_FIELD * found * (1.0 - titled)
    return ("field", W_FIELD * found) if found else ("none", 0.0)


def _tokens(text: str) -> frozenset[str]:
    return frozenset(token for token in segment(text).casefold().split() if token not in STOP_WORDS)


@dataclass(frozen=True, slots=True, order=True)
class WeightedEdge:
    """An edge with its weight."""

    source: str
    relation: str
    target: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class SubGraph:
    """What stands around a document."""

    center: str
    nodes: tuple[str, ...]
    edges: tuple[WeightedEdge, ...]
    truncated: bool
    """A cap left something out."""


def walk(
    center: str,
    edges_of: Callable[[str], Sequence[WeightedEdge]],
    *,
    depth: int = 1,
    relations: Collection[str] = (),
    max_edges_per_node: int = MAX_EDGES_PER_NODE,
    max_nodes: int = MAX_NODES,
) -> SubGraph:
    """Return the documents around one, breadth first, the heaviest edges of each first; both caps hold everywhere."""
    nodes: dict[str, None] = {center: None}
    edges: dict[WeightedEdge, None] = {}
    truncated = False
    frontier = [center]
    for _ in range(max(1, min(depth, MAX_DEPTH))):
        reached: list[str] = []
        for node in frontier:
            found = [edge for edge in edges_of(node) if not relations or edge.relation in relations]
            found.sort(key=lambda edge: (-edge.weight, edge))
            truncated |= len(found) > max_edges_per_node
            for edge in found[:max_edges_per_node]:
                other = edge.target if edge.source == node else edge.source
                if other not in nodes:
                    if len(nodes) >= max_nodes:
                        truncated = True
                        continue
                    nodes[other] = None
                    reached.append(other)
                edges[edge] = None
        frontier = reached
    return SubGraph(center, tuple(nodes), tuple(edges), truncated)
