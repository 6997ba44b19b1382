"""One search from request to answer: legs, pins, fusion, reranking, hits. Falls open, and says so."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import apsw

from memory.anchors import anchor_key
from memory.index import store as index
from memory.index.client import Database
from memory.model import Answer, Coverage, Hit, PassageHit, SearchRequest
from memory.search import store as rows
from memory.search.answer import Ranked, base_order, hit, tightest
from memory.search.filters import Condition, condition, from_epoch_ms
from memory.search.fusion import LEG_WEIGHTS, fuse, pool_size
from memory.search.query import Query, parse
from memory.search.relax import TIERS, Tier
from memory.state.store import StateStore
from ranking.rerank import RankItem, Reranked, RerankSettings, rerank
from streams.clock import Clock
from streams.errors import StorageUnavailable

MAX_ID_TERMS = 4
"""A query of more terms talks about its ids instead of asking for them."""

PASSAGES_SHOWN = 3
"""Passages of one document in an answer."""


class Searcher:
    """Asks the index; holds nothing but its connections."""

    def __init__(self, index_db: Database, state: StateStore, clock: Clock) -> None:
        self._index = index_db
        self._state = state
        self._clock = clock

    def search(self, request: SearchRequest) -> Answer:
        """Answer a request.

        Raises:
            InvalidDateError: for a date filter that cannot be read.
        """
        started = time.perf_counter()
        where = condition(request)
        query = parse(request.query)
        try:
            answer = self._answer(request, query, where)
        except (apsw.Error, StorageUnavailable) as error:
            answer = Answer(
                request=request,
                hits=(),
                effective_mode="lexical",
                degraded=True,
                degraded_reason="evidence_store_error",
                failed=True,
                findings=(f"the index could not be read: {error}",),
            )
        return replace(answer, elapsed_ms=(time.perf_counter() - started) * 1000)

    def _answer(self, request: SearchRequest, query: Query, where: Condition) -> Answer:
        with self._index.read() as db:
            coverage = _coverage(db)
            found = self._ranked(db, request, query, where)
            shown, reranked, as_of = self._rerank(request, found)
            hits = self._hits(db, request, query, shown, reranked)
        now = self._clock.now()
        age = None if coverage.indexed_at is None else max(0.0, (now - coverage.indexed_at).total_seconds())
        is_degraded = request.mode != "lexical"
        return Answer(
            request=request,
            hits=hits,
            effective_mode="lexical",
            degraded=is_degraded,
            degraded_reason="embedding_off" if is_degraded else None,
            tier=tightest(shown),
            total=len(found),
            truncated_terms=query.truncated_terms,
            coverage=coverage,
            index_age_seconds=age,
            reranked=reranked,
            priors_as_of=as_of,
        )

    def _ranked(self, db: apsw.Connection, request: SearchRequest, query: Query, where: Condition) -> list[Ranked]:
        """Return the pool in base order."""
        pool = pool_size(request.limit)
        docs = rows.doc_leg(db, query, where, pool)
        passages = rows.passage_leg(db, query, where, pool)
        owners = rows.owners(db, [row for row, _ in passages])
        tiers: dict[int, Tier] = {}
        for doc, tier in [*docs, *((owners[row], tier) for row, tier in passages)]:
            tiers[doc] = min(tiers.get(doc, tier), tier, key=TIERS.index)
        fused = fuse({"docs": [doc for doc, _ in docs], "passages": [owners[row] for row, _ in passages]}, LEG_WEIGHTS)
        asked = rows.by_keys(db, query.ids, where) if len(query.terms) <= MAX_ID_TERMS else []
        asked = list(dict.fromkeys([*rows.by_keys(db, _whole(query), where), *asked]))
        titled = [] if asked else rows.title_pins(db, query, where)
        best: dict[int, list[int]] = {}
        for row, _ in passages:
            best.setdefault(owners[row], []).append(row)
        order = list(dict.fromkeys([*asked, *titled, *fused]))
        found = rows.documents(db, order)
        texts = rows.passages(db, [row for doc in order for row in best.get(doc, [])[:PASSAGES_SHOWN]])
        return base_order(
            [
                Ranked(
                    doc=found[doc],
                    tier="pin" if doc in asked or doc in titled else tiers[doc],
                    parts=fused.get(doc, {"pin": 1.0 / 60.0}),
                    is_asked_for=doc in asked,
                    is_pinned=doc in asked or doc in titled,
                    passages=tuple(
                        PassageHit(passage=texts[row][1], score=0.0) for row in best.get(doc, []) if row in texts
                    ),
                )
                for doc in order
                if doc in found
            ]
        )

    def _rerank(
        self, request: SearchRequest, found: Sequence[Ranked]
    ) -> tuple[list[Ranked], Reranked | None, datetime | None]:
        if request.rerank == "off":
            return list(found[: request.limit]), None, None
        priors, as_of = self._state.priors([item.doc.anchor for item in found])
        reranked = rerank(
            [_rank_item(item, place) for place, item in enumerate(found, start=1)],
            priors,
            now=self._clock.now(),
            settings=RerankSettings(mode=request.rerank, estimator=request.estimator),
            limit=request.limit,
            search_mode="lexical",
        )
        by_anchor = {item.doc.anchor: item for item in found}
        return [by_anchor[anchor] for anchor in reranked.shown[: request.limit]], reranked, as_of

    def _hits(
        self,
        db: apsw.Connection,
        request: SearchRequest,
        query: Query,
        shown: Sequence[Ranked],
        reranked: Reranked | None,
    ) -> tuple[Hit, ...]:
        flags = self._state.flags([item.doc.anchor for item in shown])
        live = reranked is not None and reranked.mode == "on"
        explained = reranked.explanations if reranked is not None and live else {}
        return tuple(
            hit(item, rank, query, explained.get(item.doc.anchor), flags.get(item.doc.anchor, ()))
            for rank, item in enumerate(shown, start=1)
        )


def _whole(query: Query) -> list[str]:
    return [anchor_key(query.text)] if query.text else []


def _rank_item(item: Ranked, place: int) -> RankItem:
    return RankItem(
        anchor=item.doc.anchor,
        doc_kind=item.doc.kind,
        base_score=item.score,
        base_rank=place,
        authority=item.doc.authority,
        path=item.doc.path,
        updated_at=from_epoch_ms(item.doc.updated_ms),
        stale=False,
        is_pinned=item.is_asked_for,
        keywords=item.doc.keywords,
    )


def _coverage(db: apsw.Connection) -> Coverage:
    documents, passages = index.counts(db)
    indexed = index.meta(db, "indexed_ms")
    return Coverage(
        documents=documents,
        passages=passages,
        embedded=0,
        to_embed=0,
        generation=int(index.meta(db, "generation") or 0),
        indexed_at=from_epoch_ms(None if indexed is None else int(indexed)),
    )
