"""Resolves a graph query over the store: candidates from search, edges and consumption; the sub-graph around one.

Consumption speaks under the same switch as in search: `off` leaves it out, `shadow` works both orders out and shows the
one without it, `on` shows the one with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memory.graph.resolve import GraphCandidate, InEdge, Resolution, SubGraph, WeightedEdge, resolve, walk
from memory.model import Edge, Hit, Rerank, SearchRequest
from memory.store import SearchStore
from ranking.edges import edge_weight
from streams.recall import AnchorPrior

POOL = 16
"""Candidates that search gives (F200 section 15.4)."""

UNRELATED = 0.02
"""Relevance of a source that the query did not find."""


@dataclass(frozen=True, slots=True)
class View:
    """What a graph query came to, with or without consumption."""

    resolution: Resolution
    graph: SubGraph | None

    @property
    def order(self) -> tuple[str, ...]:
        """Anchors as shown: the nodes of the sub-graph, else the candidates."""
        if self.graph is not None:
            return self.graph.nodes
        return tuple(scored.candidate.anchor for scored in self.resolution.ranked)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphAnswer:
    """What is shown, and both orders where consumption was asked."""

    shown: View
    hits: dict[str, Hit]
    """What search knows of the candidates."""
    mode: Rerank = "off"
    base_order: tuple[str, ...] | None = None
    reranked_order: tuple[str, ...] | None = None
    """Null when consumption was not asked."""
    priors_as_of: datetime | None = None


def resolve_graph(
    store: SearchStore,
    query: str,
    *,
    depth: int = 1,
    relations: Collection[str] = (),
    now: datetime,
    rerank: Rerank = "off",
) -> GraphAnswer:
    """Resolve a query; an exact id comes with its sub-graph, anything else with candidates to choose from."""
    answer = store.search(SearchRequest(query=query, limit=POOL))
    hits = {hit.anchor: hit for hit in answer.hits}
    edges = {anchor: store.edges(anchor) for anchor in hits}

    def view(weigh: Weigh, priors: dict[str, AnchorPrior]) -> View:
        candidates = _candidates(answer.hits, edges, weigh)
        return _view(
            store, query, [_consumed(c, priors.get(c.anchor), now) for c in candidates], weigh, depth, relations
        )

    base = view(_unwalked, {})
    if rerank == "off":
        return GraphAnswer(shown=base, hits=hits)
    priors, as_of = store.state.priors(list(hits))
    reranked = view(_walked(store, now), priors)
    return GraphAnswer(
        shown=reranked if rerank == "on" else base,
        hits=hits,
        mode=rerank,
        base_order=base.order,
        reranked_order=reranked.order,
        priors_as_of=as_of,
    )


Weigh = Callable[[Sequence[Edge]], list[WeightedEdge]]
"""Gives edges their weights."""


def _view(
    store: SearchStore,
    query: str,
    candidates: Sequence[GraphCandidate],
    weigh: Weigh,
    depth: int,
    relations: Collection[str],
) -> View:
    found = resolve(query, candidates)
    if found.resolved is None:
        return View(found, None)
    return View(found, walk(found.resolved, lambda node: weigh(store.edges(node)), depth=depth, relations=relations))


def _candidates(hits: Sequence[Hit], edges: dict[str, list[Edge]], weigh: Weigh) -> Iterable[GraphCandidate]:
    best = max((hit.score for hit in hits), default=1.0)
    relevance = {hit.anchor: hit.score / best for hit in hits}
    for hit in hits:
        yield GraphCandidate(
            anchor=hit.anchor,
            title=hit.title,
            kind=hit.kind,
            authority=hit.authority,
            path=hit.path,
            fields=hit.snippet,
            in_edges=tuple(
                InEdge(relevance.get(e.source, UNRELATED), e.weight)
                for e in weigh([edge for edge in edges[hit.anchor] if edge.target == hit.anchor])
            ),
            degree=len(edges[hit.anchor]),
        )


def _consumed(candidate: GraphCandidate, prior: AnchorPrior | None, now: datetime) -> GraphCandidate:
    if prior is None or prior.last_consumed_at is None:
        return candidate
    return replace(candidate, days_since_last_consumed=(now - prior.last_consumed_at) / timedelta(days=1))


def _unwalked(edges: Sequence[Edge]) -> list[WeightedEdge]:
    return _weighted(edges, {})


def _walked(store: SearchStore, now: datetime) -> Weigh:
    """Return weights with the walks of the last month, as the priors of the edges' sources tell of them."""

    def weigh(edges: Sequence[Edge]) -> list[WeightedEdge]:
        walked = store.state.walks({edge.source for edge in edges})
        return _weighted(edges, {way: [(now - at) / timedelta(days=1) for at in ats] for way, ats in walked.items()})

    return weigh


def _weighted(edges: Sequence[Edge], ages: dict[tuple[str, str], list[float]]) -> list[WeightedEdge]:
    distinct = dict.fromkeys((edge.source, edge.relation, edge.target) for edge in edges)
    return [
        WeightedEdge(source, relation, target, edge_weight(relation, ages.get((source, target), ())))
        for source, relation, target in distinct
    ]
