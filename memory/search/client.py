"""One search from request to answer: legs, pins, fusion, reranking, hits. Falls open, and says so."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import apsw

from memory.anchors import anchor_key
from memory.embed.provider import EmbeddingUnavailable, Vectors
from memory.index import store as index
from memory.index.client import Database
from memory.model import Answer, Coverage, Hit, Mode, PassageHit, SearchRequest
from memory.search import store as rows
from memory.search.answer import Ranked, base_order, hit, tightest, with_successors
from memory.search.filters import Condition, condition, from_epoch_ms
from memory.search.fusion import RAW_WEIGHTS, WEIGHTS, fuse, pool_size, trust_in, weights_for
from memory.search.query import Query, parse
from memory.search.relax import TIERS, Match, is_confident
from memory.state.store import StateStore
from memory.vectors.store import VectorStore
from ranking.explore import Exploration
from ranking.mmr import mmr_applies
from ranking.rerank import RankItem, Reranked, RerankSettings, rerank
from ranking.serve import Served, serve
from streams.clock import Clock
from streams.errors import StorageUnavailable

MAX_ID_TERMS = 4
"""A query of more terms talks about its ids instead of asking for them."""

PASSAGES_SHOWN = 3
"""Passages of one document in an answer."""

CONFIDENT_COSINE = 0.45
"""Of the bundled model: unrelated pairs of its languages lie below 0.3, translations above 0.5."""


@dataclass(slots=True)
class Legs:
    """What each leg of a search found."""

    lists: dict[str, list[int]] = field(default_factory=dict)
    """Documents by leg, best first."""
    matches: dict[int, Match] = field(default_factory=dict)
    """The tightest match of each document."""
    passages: dict[int, list[int]] = field(default_factory=dict)
    """Passage rows of each document, best first."""
    near: dict[int, float] = field(default_factory=dict)
    """Cosine of documents that the vectors found."""
    trust: dict[tuple[str, int], float] = field(default_factory=dict)
    mode: Mode = "lexical"
    degraded: str | None = None
    literal: float = 0.0
    """How far the query asks for its very letters."""

    def add(self, leg: str, found: Sequence[tuple[int, Match]]) -> None:
        """Add one leg."""
        self.lists[leg] = [doc for doc, _ in found]
        for doc, match in found:
            trust = trust_in(match.tier, self.literal)
            self.trust[leg, doc] = max(trust, self.trust.get((leg, doc), 0.0))
            held = self.matches.get(doc)
            if held is None or (TIERS.index(match.tier), -match.terms) < (TIERS.index(held.tier), -held.terms):
                self.matches[doc] = match


class Searcher:
    """Asks the index; holds nothing but its connections."""

    def __init__(self, index_db: Database, state: StateStore, vectors: VectorStore, clock: Clock) -> None:
        self._index = index_db
        self._state = state
        self._vectors = vectors
        self._clock = clock
        self._coverage: Coverage | None = None

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
            coverage = self._covered(db, request)
            legs = self._legs(db, request, query, where) if query.text else Legs(mode=request.mode)
            found = self._ranked(db, request, query, where, legs)
            shown, reranked, served, as_of = self._rerank(db, request, found, legs.mode)
            hits = self._hits(db, request, query, shown, reranked, served)
        age = None
        if coverage.indexed_at is not None:
            age = max(0.0, (self._clock.now() - coverage.indexed_at).total_seconds())
        return Answer(
            request=request,
            hits=hits,
            effective_mode=legs.mode,
            degraded=legs.degraded is not None,
            degraded_reason=legs.degraded,
            tier=tightest(shown),
            confident=any(item.is_confident for item in shown),
            total=len(found),
            truncated_terms=query.truncated_terms,
            coverage=coverage,
            index_age_seconds=age,
            reranked=reranked,
            served=served,
            priors_as_of=as_of,
        )

    def _legs(self, db: apsw.Connection, request: SearchRequest, query: Query, where: Condition) -> Legs:
        legs = Legs(mode=request.mode, literal=query.literal)
        pool = pool_size(request.limit)
        if request.mode != "lexical":
            self._vector_leg(db, legs, request, query, where)
        if legs.mode != "semantic":
            passages = rows.passage_leg(db, query, where, pool)
            owners = rows.owners(db, [match.row for match in passages])
            legs.add("docs", [(match.row, match) for match in rows.doc_leg(db, query, where, pool)])
            legs.add("passages", [(owners[match.row], match) for match in passages])
            for match in passages:
                legs.passages.setdefault(owners[match.row], []).append(match.row)
            words = [anchor_key(term.text) for term in query.terms]
            named = [doc for doc in rows.by_keys(db, words, where) if doc not in legs.matches]
            legs.add("names", [(doc, Match(doc, "entity_or_semantic")) for doc in named])
        return legs

    def _vector_leg(
        self, db: apsw.Connection, legs: Legs, request: SearchRequest, query: Query, where: Condition
    ) -> None:
        """Add the nearest by meaning, or make the search lexical and say why."""
        prefix = "passage_" if request.depth == "raw" else ""
        try:
            vector = self._vectors.query_vector(query.text)
        except EmbeddingUnavailable:
            legs.mode, legs.degraded = "lexical", f"{prefix}embedding_unavailable"
            return
        try:
            docs, passages = self._vectors.search(db, vector, where, limit=pool_size(request.limit))
        except (apsw.Error, EmbeddingUnavailable):
            legs.mode, legs.degraded = "lexical", f"{prefix}vector_search_error"
            return
        if not docs and not passages and not self._vectors.coverage(db)[0]:
            legs.mode, legs.degraded = "lexical", f"{prefix}vectors_missing"
            return
        for leg, found in (("vectors", docs), ("vector_passages", passages)):
            legs.add(leg, [(one.doc, Match(one.doc, "entity_or_semantic")) for one in found])
        for one in (*docs, *passages):
            legs.near[one.doc] = max(one.score, legs.near.get(one.doc, -1.0))
        for one in passages:
            legs.passages.setdefault(one.doc, []).append(one.passage)

    def _ranked(
        self, db: apsw.Connection, request: SearchRequest, query: Query, where: Condition, legs: Legs
    ) -> list[Ranked]:
        """Return the pool in base order."""
        weights = weights_for(RAW_WEIGHTS if request.depth == "raw" else WEIGHTS, query.literal)
        fused = fuse(legs.lists, weights, legs.trust)
        asked = rows.by_keys(db, [anchor_key(query.text)] if query.text else [], where)
        if len(query.terms) <= MAX_ID_TERMS:
            asked = list(dict.fromkeys([*asked, *rows.by_keys(db, query.ids, where)]))
        titled = [] if asked else rows.title_pins(db, query, where)
        order = list(dict.fromkeys([*asked, *titled, *fused]))
        docs = rows.documents(db, order)
        pinned = {*asked, *titled}
        found = [
            Ranked(
                doc=docs[doc],
                tier="pin" if doc in pinned else legs.matches[doc].tier,
                parts=fused.get(doc) or {"pin": 1.0 / 60.0},
                is_asked_for=doc in asked,
                is_pinned=doc in pinned,
                passage_rows=tuple(dict.fromkeys(legs.passages.get(doc, ())))[:PASSAGES_SHOWN],
                is_confident=doc in pinned
                or is_confident(query, legs.matches[doc])
                or legs.near.get(doc, 0.0) >= CONFIDENT_COSINE,
            )
            for doc in order
            if doc in docs
        ]
        ordered = base_order(found, is_raw=request.depth == "raw")
        heads = rows.by_keys(
            db, [anchor_key(item.doc.head) for item in ordered if item.is_asked_for and item.doc.head], where
        )
        return with_successors(ordered, rows.documents(db, heads).values())

    def _rerank(
        self, db: apsw.Connection, request: SearchRequest, found: Sequence[Ranked], mode: Mode
    ) -> tuple[list[Ranked], Reranked | None, Served | None, datetime | None]:
        if request.rerank == "off":
            return list(found[: request.limit]), None, None, None
        now = self._clock.now()
        priors, as_of = self._state.priors([item.doc.anchor for item in found])
        vectors: dict[int, Vectors] = {}
        if mmr_applies(len(found), request.limit, mode):
            vectors = self._vectors.documents(db, [item.doc.id for item in found])
        reranked = rerank(
            [_rank_item(item, place, vectors.get(item.doc.id)) for place, item in enumerate(found, start=1)],
            priors,
            now=now,
            settings=RerankSettings(mode=request.rerank, estimator=request.estimator),
            limit=request.limit,
            search_mode=mode,
        )
        served = serve(
            reranked,
            priors,
            limit=request.limit,
            seed=f"{request.query} {now.isoformat()}",
            interleave=request.interleave,
            exploration=Exploration(rate=request.explore) if request.explore else None,
            exact_id=any(item.is_asked_for for item in found),
        )
        by_anchor = {item.doc.anchor: item for item in found}
        return [by_anchor[anchor] for anchor in served.order], reranked, served, as_of

    def _hits(
        self,
        db: apsw.Connection,
        request: SearchRequest,
        query: Query,
        shown: Sequence[Ranked],
        reranked: Reranked | None,
        served: Served | None,
    ) -> tuple[Hit, ...]:
        shown = _with_passages(db, shown, request.context_window if request.depth == "raw" else 0)
        flags = self._state.flags([item.doc.anchor for item in shown])
        live = served is not None and served.ranker_mode == "on"
        explained = reranked.explanations if reranked is not None and live else {}
        return tuple(
            hit(item, rank, query, explained.get(item.doc.anchor), flags.get(item.doc.anchor, ()))
            for rank, item in enumerate(shown, start=1)
        )

    def _covered(self, db: apsw.Connection, request: SearchRequest) -> Coverage:
        """Return what the index holds; counted again only when it changed."""
        generation = int(index.meta(db, "generation") or 0)
        indexed = index.meta(db, "indexed_ms")
        at = from_epoch_ms(None if indexed is None else int(indexed))
        held = self._coverage
        if held is None or held.generation != generation:
            documents, passages = index.counts(db)
            held = Coverage(
                documents=documents, passages=passages, embedded=0, to_embed=0, generation=generation, indexed_at=at
            )
            self._coverage = held
        embedded, to_embed = held.embedded, held.to_embed
        if request.mode != "lexical":
            with contextlib.suppress(apsw.Error, EmbeddingUnavailable):  # the vector leg says what is wrong
                embedded, to_embed = self._vectors.coverage(db)
        return replace(held, embedded=embedded, to_embed=to_embed, indexed_at=at)


def _with_passages(db: apsw.Connection, shown: Sequence[Ranked], window: int) -> list[Ranked]:
    """Return results with the text of their passages, each with so many neighbours on either side."""
    texts = rows.passages(db, [row for item in shown for row in item.passage_rows])

    def read(item: Ranked, row: int) -> PassageHit:
        passage = texts[row][1]
        near = rows.context_of(db, item.doc.id, passage.position, window) if window else ()
        return PassageHit(passage=passage, score=0.0, context=tuple(near))

    return [
        replace(item, passages=tuple(read(item, row) for row in item.passage_rows if row in texts)) for item in shown
    ]


def _rank_item(item: Ranked, place: int, vector: Vectors | None) -> RankItem:
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
        vector=vector,
    )
