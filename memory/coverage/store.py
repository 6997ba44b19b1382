"""The search store as the sources of a coverage search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory.coverage.matrix import Found
from memory.graph.edges import DEPENDENT
from memory.model import Hit, Mode, Scope, SearchRequest
from memory.store import SearchStore


class StoreSources:
    """Documents, threads, declared keywords and dependent documents of one store."""

    def __init__(self, store: SearchStore, mode: Mode) -> None:
        self._store = store
        self._mode = mode

    def find(self, scope: str, query: str, limit: int) -> Sequence[Found]:
        """Return direct hits of a scope."""
        wanted: Scope = "threads" if scope == "threads" else "docs"
        answer = self._store.search(SearchRequest(query=query, mode=self._mode, scope=wanted, limit=limit))
        return [self._found(hit) for hit in answer.hits]

    def lookup(self, keyword: str, limit: int) -> Sequence[Found]:
        """Return documents that declare a keyword, word for word."""
        answer = self._store.search(SearchRequest(query=keyword, scope="docs", keywords=(keyword,), limit=limit))
        return [self._found(hit) for hit in answer.hits]

    def threads(self, ids: Sequence[str]) -> Sequence[Found]:
        """Return the threads of these ids that are indexed."""
        rows = [self._store.document(anchor) for anchor in ids]
        return [Found(anchor=row.anchor, title=row.title, kind=row.kind) for row in rows if row is not None]

    def consumers(self, anchors: Sequence[str]) -> Mapping[str, Sequence[Found]]:
        """Return, by anchor, the documents that depend on it; stale where they wait for a review."""
        flagged = self._store.state.flags()
        found: dict[str, list[Found]] = {}
        for anchor in anchors:
            for edge in self._store.edges(anchor):
                if edge.target == anchor and edge.relation in DEPENDENT:
                    row = self._store.document(edge.source)
                    if row is not None:
                        stale = row.anchor in flagged
                        title, kind, path = row.title, row.kind, row.file
                        one = Found(anchor=row.anchor, title=title, kind=kind, path=path, stale=stale)
                        found.setdefault(anchor, []).append(one)
        return found

    def _found(self, hit: Hit) -> Found:
        row = self._store.document(hit.anchor)
        return Found(
            anchor=hit.anchor,
            title=hit.title,
            kind=hit.kind,
            path=hit.file,
            summary=row.summary if row is not None else hit.snippet,
            keywords=row.topics if row is not None else (),
            source_ids=row.source_ids if row is not None else (),
            score=hit.score,
        )
