"""Resolves a graph query over the store: candidates from search, edges and consumption; the sub-graph around one."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.graph.resolve import GraphCandidate, InEdge, Resolution, SubGraph, WeightedEdge, resolve, walk
from memory.model import Edge, Hit, SearchRequest
from memory.store import SearchStore
from ranking.edges import edge_weight

POOL = 16
"""Candidates that search gives (F200 section 15.4)."""

UNRELATED = 0.02
"""Relevance of a source that the query did not find."""


@dataclass(frozen=True, slots=True)
class GraphAnswer:
    """What a graph query came to."""

    resolution: Resolution
    graph: SubGraph | None
    hits: dict[str, Hit]
    """What search knows of the candidates."""


def resolve_graph(
    store: SearchStore, query: str, *, depth: int = 1, relations: Collection[str] = (), now: datetime
) -> GraphAnswer:
    """Resolve a query; an exact id comes with its sub-graph, anything else with candidates to choose from."""
    answer = store.search(SearchRequest(query=query, limit=POOL))
    hits = {hit.anchor: hit for hit in answer.hits}
    best = max((hit.score for hit in answer.hits), default=1.0)
    relevance = {hit.anchor: hit.score / best for hit in answer.hits}
    priors, _ = store.state.priors(list(hits))
    weight = _weights(store, now)
    candidates = []
    for anchor, hit in hits.items():
        edges = store.edges(anchor)
        prior = priors.get(anchor)
        last = prior.last_consumed_at if prior is not None else None
        candidates.append(
            GraphCandidate(
                anchor=anchor,
                title=hit.title,
                kind=hit.kind,
                authority=hit.authority,
                path=hit.path,
                fields=hit.snippet,
                in_edges=tuple(
                    InEdge(relevance.get(e.source, UNRELATED), weight(e)) for e in edges if e.target == anchor
                ),
                degree=len(edges),
                days_since_last_consumed=None if last is None else (now - last) / timedelta(days=1),
            )
        )
    found = resolve(query, candidates)
    graph = None
    if found.resolved is not None:
        graph = walk(found.resolved, lambda node: _weighted(store, node, weight), depth=depth, relations=relations)
    return GraphAnswer(found, graph, hits)


def _weights(store: SearchStore, now: datetime) -> Callable[[Edge], float]:
    walked = store.state.walks_since(now - timedelta(days=30))

    def weight(edge: Edge) -> float:
        ages = [(now - at) / timedelta(days=1) for at in walked.get((edge.source, edge.relation, edge.target), ())]
        return edge_weight(edge.relation, ages)

    return weight


def _weighted(store: SearchStore, node: str, weight: Callable[[Edge], float]) -> list[WeightedEdge]:
    edges = {(e.source, e.relation, e.target): weight(e) for e in store.edges(node)}
    return [WeightedEdge(source, relation, target, value) for (source, relation, target), value in edges.items()]
