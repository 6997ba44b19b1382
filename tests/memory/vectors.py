"""Adapters from the vector files to the search store: the product answers, nothing is decided here."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from memory.embed.provider import EmbeddingUnavailable, Identity, TextKind, Vectors, checked, parse_mode
from memory.graph.edges import declared, dependents, links_in, related, resolved
from memory.index.job import file_documents
from memory.model import Document, Edge, Mode, Passage, SearchRequest
from memory.search.answer import drilldown
from memory.search.filters import InvalidDateError
from memory.search.fusion import fuse, pool_size, vector_weight
from memory.search.query import parse
from memory.search.store import DocRow, context_of
from memory.sources import collector
from memory.sources.documents import documents, hashed, parse_instant
from memory.sources.frontmatter import split
from memory.sources.kinds import is_archived, kind_of
from memory.sources.manifests import tier_of
from memory.sources.markdown import blocks, passages, tokens
from memory.sources.messages import Message, message_passages, thread_document
from memory.store import SearchStore
from streams.clock import FixedClock
from streams.errors import ConfigError

Record = dict[str, Any]

NOW = datetime(2031, 4, 30, tzinfo=UTC)


@contextmanager
def a_store(embedder: Any = None, mode: Any = "on") -> Iterator[SearchStore]:
    with (
        tempfile.TemporaryDirectory() as folder,
        SearchStore.open(Path(folder), clock=FixedClock(NOW), embedder=embedder, embed_mode=mode) as store,
    ):
        yield store


def to_document(given: Record) -> Document:
    return hashed(
        Document(
            anchor=given["anchor"],
            title=str(given.get("title", given["anchor"])),
            kind=given.get("kind", "plan"),
            status=given.get("status", "active"),
            summary=given.get("summary", ""),
            keywords=tuple(given.get("keywords", ())),
            authority=given.get("authority", "observed"),
            updated_at=parse_instant(given["updated_at"]) if "updated_at" in given else None,
            superseded_by=given.get("superseded_by"),
            supersedes=tuple(given.get("supersedes", ())),
            tier=given.get("tier", "authoritative"),
            passages=tuple(
                Passage(passage_id=f"md-{at}", text=text, position=at)
                for at, text in enumerate(given.get("body_passages", ()))
            ),
        )
    )


# --- frontmatter, kinds, edges, passages --------------------------------------------------------------------------


def frontmatter(given: Record) -> Record:
    if "before" in given:
        before, after = (
            {d.anchor: d.text_hash for d in documents("lessons-learned.md", given[k])} for k in ("before", "after")
        )
        return {"hash_changed": any(before[anchor] != after[anchor] for anchor in before if anchor.startswith("LL-"))}
    path = given.get("path", "notes/x.md")
    found = documents(path, given["text"])
    own = found[0]
    edges = [[e.source, e.relation, e.target] for e in (*declared(own), *own.links)]
    answer: Record = {
        "anchor": own.anchor,
        "kind": own.kind,
        "title": own.title,
        "status": own.status,
        "summary": own.summary,
        "superseded_by": own.superseded_by,
        "topics": list(own.topics),
        "supersedes": list(own.supersedes),
        "keywords": list(own.keywords),
        "edges": edges,
        "problems": list(own.problems),
        "anchors": [document.anchor for document in found],
    }
    for lesson in found[1:]:
        answer[lesson.anchor] = {"kind": lesson.kind, "title": lesson.title, "keywords": list(lesson.keywords)}
    return answer


def kind_inference(given: Record) -> Record:
    if given.get("scanner") == "generic":
        text = given.get("text", "")
        if given.get("doc_kind"):
            text = f"---\ndoc_kind: {given['doc_kind']}\n---\n{text}"
        own = file_documents(given["path"], text)[0]
        return {"kind": own.kind, "tier": own.tier, "anchor": own.anchor, "title": own.title}
    if "files" in given:
        return _discovered(given["files"])
    front = given.get("frontmatter") or {}
    lines = [f"{key}: {value}" for key, value in front.items()]
    if given.get("doc_kind"):
        lines.append(f"doc_kind: {given['doc_kind']}")
    text = "\n".join(["---", *lines, "---", "# T", ""]) if lines else "# T\n"
    own = documents(given["path"], text)[0]
    return {
        "kind": own.kind,
        "anchor": own.anchor,
        "ranked_below_live_docs": own.is_archived,
        "tier": tier_of(given["path"]),
    }


def _discovered(files: Sequence[str]) -> Record:
    with tempfile.TemporaryDirectory() as folder:
        for name in files:
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        found, skipped = collector.walk(Path(folder))
    rows = [{"path": f.path, "kind": kind_of(f.path), "archived": is_archived(f.path)} for f in found]
    return {
        "discovered": rows,
        "count": len(rows),
        "skipped": [{"path": report.path, "reason": report.reason} for report in skipped],
    }


def edges(given: Record) -> Record:
    if "body" in given:
        found = links_in(given["anchor"], given["body"], given.get("source", ""))
        known = given.get("known", {})
        found = resolved(found, known, {})
        return {"edges": _triples(found)}
    if "docs" in given:
        return _succession(given["docs"], given.get("ask_head"))
    if "ask" in given:
        rows = related(given["ask"], [_edge(triple) for triple in given["edges"]])
        return {
            "related": [
                {"anchor": r.anchor, "relation": r.relation, "direction": r.direction, "reads_as": r.reads_as}
                for r in rows
            ]
        }
    if "edited" in given:
        return {"needs_review": list(dependents([given["edited"]], [_edge(triple) for triple in given["edges"]]))}
    with a_store() as store:
        if "add" in given:
            for triple in given["add"]:
                store.add_edge(_edge(triple))
            return {"count": len(store.edges())}
        if "delete" in given:
            sources = {triple[0] for triple in given["edges"]} | {triple[2] for triple in given["edges"]}
            _put(store, sources, {s: [_edge(t) for t in given["edges"] if t[0] == s] for s in sources})
            left = sources - {given["delete"]}
            _put(store, left, {s: [_edge(t) for t in given["edges"] if t[0] == s] for s in left})
            return {"edges": _triples(store.edges())}
        before, after = given["before"], given["after"]
        source, relation = given.get("anchor", "F031"), given.get("relation", "related_to")
        for target in before.get("manual", ()):
            store.add_edge(Edge(source=source, relation=relation, target=target, provenance="manual"))
        for state in (before, after):
            stated = [Edge(source=source, relation=relation, target=t) for t in state.get("frontmatter", ())]
            _put(store, {source}, {source: stated})
        return {"edges": _triples(store.edges())}


def _put(store: SearchStore, anchors: set[str], stated: Mapping[str, Sequence[Edge]]) -> None:
    store.put(
        [hashed(Document(anchor=a, title=a, links=tuple(stated.get(a, ())))) for a in sorted(anchors)], origin="vector"
    )


def _edge(triple: Sequence[str]) -> Edge:
    return Edge(source=triple[0], relation=triple[1], target=triple[2])


def _triples(found: Any) -> list[list[str]]:
    return [list(t) for t in dict.fromkeys((e.source, e.relation, e.target) for e in found)]


def _succession(docs: Sequence[Record], ask_head: str | None) -> Record:
    with a_store() as store:
        store.put([to_document(each) for each in docs], origin="vector")
        answer: Record = {"edges": _triples(store.edges())}
        for each in docs:
            row = store.document(each["anchor"])
            if row is not None:
                answer[each["anchor"]] = {"superseded_by": row.superseded_by, "head": row.head}
        if ask_head is not None and (row := store.document(ask_head)) is not None:
            answer["head"] = row.head
        lint = store.lint()
        cycles = [finding for finding in lint if finding.code == "supersede_cycle"]
        answer["cycle"] = list(cycles[0].related) if cycles else None
        answer["findings"] = [{"anchor": f.anchor, "code": f.code} for f in lint]
        return answer


def passages_area(given: Record) -> Record:
    if "text" in given:
        front = split(given["text"])
        found = [block for block in blocks(front.body, front.body_line) if block.kind not in ("heading", "comment")]
        return {
            "passages": [
                b.text if not b.heading_path else {"heading_path": list(b.heading_path), "text": b.text} for b in found
            ]
        }
    if "old_text" in given:
        return _kept(given["old_text"], given["new_text"])
    if "paragraph_words" in given:
        n = given["paragraph_words"]
        old, new = ("\n\n".join(" ".join([word] * n) for word in given[key]) for key in ("old", "new"))
        return {key: [text.split()[0] for text in texts] for key, texts in _kept(old, new).items()}
    if "words" in given:
        found_passages = passages(blocks(" ".join(f"w{at}" for at in range(given["words"]))))
        return {"passages": len(found_passages), "max_words_each": max(tokens(p.text) for p in found_passages)}
    if "positions" in given:
        return _context(given["positions"], given["hit"], given["window"])
    if "query" in given:
        return {"hit": _is_hit(given)}
    if "message" in given:
        shape = given["message"]
        text = Message(message_id="m1", content=shape["content"], blocks=tuple(shape.get("blocks", ()))).text
        return {
            "text": text,
            "no_duplicate": next((w for w in _strings(shape.get("blocks")) if text.count(w) == 1), None),
        }
    thread = given.get("thread", "t1")
    messages = [to_message(each) for each in given["messages"]]
    found_rows = message_passages(thread, messages)
    anchor = thread_document(thread, messages).anchor
    return {
        "rows": [[anchor, p.passage_id, p.speaker, p.position] for p in found_rows],
        "ids": [p.passage_id for p in found_rows],
    }


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _strings(item)


def _kept(old: str, new: str) -> dict[str, list[str]]:
    before = {p.passage_id for p in passages(blocks(old))}
    after = passages(blocks(new))
    return {
        "same_id": [p.text for p in after if p.passage_id in before],
        "re_embedded": [p.text for p in after if p.passage_id not in before],
    }


def to_message(given: Record) -> Message:
    at = parse_instant(given["ts"]) if isinstance(given.get("ts"), str) else None
    return Message(
        message_id=given["id"],
        content=given["content"],
        agent=given.get("agent"),
        at=at,
        blocks=tuple(given.get("blocks", ())),
    )


def _context(positions: Sequence[int], hit: int, window: int) -> Record:
    found = tuple(Passage(passage_id=f"p{at}", text=f"word{at}", position=at) for at in positions)
    with a_store() as store:
        store.put([hashed(Document(anchor="D", title="D", passages=found))], origin="vector")
        row = store.document("D")
        with store.index_db.read() as db:
            return {"context": [p.position for p in context_of(db, row.id, hit, window)]} if row else {}


def _is_hit(given: Record) -> bool:
    message = Message(message_id="m1", content=given["message"])
    with a_store() as store:
        store.put([replace(thread_document("t1", [message]), summary="", title="x")], origin="vector")
        answer = store.search(SearchRequest(query=given["query"], depth=given["depth"]))
    return any(hit.passages for hit in answer.hits)


# --- search -------------------------------------------------------------------------------------------------------


def request_of(given: Record, query: str) -> SearchRequest:
    kinds, statuses = given.get("kind"), given.get("status")
    return SearchRequest(
        query=query,
        mode=given.get("mode", "lexical"),
        scope=given.get("scope", "all"),
        depth=given.get("depth", "summary"),
        kinds=(kinds,) if isinstance(kinds, str) else tuple(kinds or ()),
        statuses=(statuses,) if isinstance(statuses, str) else tuple(statuses or ()),
        keywords=tuple(given.get("keywords", ())),
        date_from=given.get("dateFrom"),
        date_to=given.get("dateTo"),
        thread_id=given.get("threadId"),
        limit=given.get("limit", 10),
    )


def search_filters(given: Record) -> Record:
    if given.get("call") == "list_recent":
        with a_store() as store:
            store.put([to_document(each) for each in given["docs"]], origin="vector")
            listing = store.recent(given["since"], scope=given["scope"], now=parse_instant(given["now"]) or NOW)
            return {"anchors": [item.anchor for item in listing.items]}
    if "other_thread_hits" in given:
        return _crowded_threads(given)
    if "near_docs_wrong_kind" in given:
        return _crowded_vectors(given)
    with a_store() as store:
        store.put([to_document(each) for each in given["docs"]], origin="vector")
        try:
            queries = given.get("queries") or [given["query"]]
            answers = [store.search(request_of(given, query)) for query in queries]
        except InvalidDateError:
            return {"error": "invalid_date", "raises": False}
    return _answered(answers[-1]) | {"raises": any(answer.failed for answer in answers)}


def _answered(answer: Any) -> Record:
    found = [hit.anchor for hit in answer.hits]
    members = dict.fromkeys(("anchors", "set", "order"), found)
    return {
        **members,
        "first": found[0] if found else None,
        "contains": next(iter(found), None),
        "count": len(found),
        **{f"has:{anchor}": True for anchor in found},
        "contains_any": found,
    }


def _crowded_threads(given: Record) -> Record:
    others = [
        thread_document(f"t{100 + at}", [Message(message_id=f"m{at}", content=f"{given['query']} " * 3 + str(at))])
        for at in range(given["other_thread_hits"])
    ]
    wanted = given["wanted"]
    last = thread_document(wanted["thread"], [Message(message_id="w", content=wanted["message"])])
    with a_store() as store:
        store.put([*others, last], origin="vector")
        answer = store.search(request_of(given, given["query"]))
    return {"contains_thread": next((hit.anchor.removeprefix("thread-") for hit in answer.hits if hit.passages), None)}


class AngleEmbedder:
    """A fake provider: each text has the angle that the vector file gives it; the query lies at 0."""

    def __init__(self, angles: Mapping[str, float], identity: Identity | None = None) -> None:
        self._angles = angles
        self.identity = identity or Identity(provider="fake", model="angles", revision="1", dim=2)
        self.fails = False

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        if self.fails:
            raise EmbeddingUnavailable("down")
        turns = [self._angles.get(text.split("\n")[0], 0.0) for text in texts]
        return checked(np.array([[np.cos(turn), np.sin(turn)] for turn in turns]), len(texts), 2)

    def close(self) -> None:
        """Nothing to free."""


def _crowded_vectors(given: Record) -> Record:
    count, wanted = given["near_docs_wrong_kind"], given["wanted"]
    docs = [Document(anchor=f"N{at}", title=f"n{at}", kind=given.get("near_kind", "feature")) for at in range(count)]
    docs.append(Document(anchor=wanted["anchor"], title="wanted", kind=wanted["kind"]))
    angles = {f"n{at}": 0.001 * (at + 1) for at in range(count)} | {"wanted": 0.001 * wanted["distance_rank"]}
    with a_store(AngleEmbedder(angles)) as store:
        store.put([hashed(document) for document in docs], origin="vector")
        store.embed()
        return _answered(store.search(request_of(given, given["query"])))


def superseded(given: Record) -> Record:
    if "text" in given:
        return {"superseded_by": documents("decisions/d.md", given["text"])[0].superseded_by}
    if "docs" in given and "query" not in given:
        return _succession(given["docs"], None)
    if "docs" in given:
        with a_store() as store:
            store.put([to_document(each) for each in given["docs"]], origin="vector")
            answer = store.search(request_of(given, given["query"]))
        reply: Record = {
            "order": [hit.anchor for hit in answer.hits],
            "notice": {hit.anchor: hit.notices[0] for hit in answer.hits if hit.notices},
            "demoted": [hit.anchor for hit in answer.hits if hit.notices],
        }
        return reply | {hit.anchor: {"head": hit.successor} for hit in answer.hits}
    ranked = given.get("nn") or given["ranked"]
    with a_store(AngleEmbedder({f"T {anchor}": 0.01 * (at + 1) for at, anchor in enumerate(ranked)})) as store:
        rows = [
            hashed(Document(anchor=a, title=f"T {a}", status="superseded" if a in given["superseded"] else "active"))
            for a in ranked
        ]
        store.put(rows, origin="vector")
        store.embed()
        answer = store.search(SearchRequest(query="nothing near", mode="semantic", limit=given.get("limit", 10)))
    return {"order": [hit.anchor for hit in answer.hits]}


def hybrid_rrf(given: Record) -> Record:
    if "limits" in given:
        return {"pools": [pool_size(limit) for limit in given["limits"]]}
    if "queries" in given:
        return {"cjk": [parse(query).is_cjk for query in given["queries"]]}
    if "relevance" in given:
        return _popularity(given["relevance"], given["popularity"])
    if given.get("mode") == "semantic":
        with a_store(AngleEmbedder({f"T {a}": 0.01 * (at + 1) for at, a in enumerate(given["nn"])})) as store:
            store.put([hashed(Document(anchor=a, title=f"T {a}")) for a in given["exists"]], origin="vector")
            store.embed()
            return _answered(store.search(SearchRequest(query=given["query"], mode="semantic")))
    weights = {"nn": vector_weight(is_cjk=given.get("query_script") == "han"), **given.get("weights", {})}
    if "lexical_index" in given:
        lexical = [f"x{at}" for at in range(given["lexical_index"])] + ["lexical"]
        near = [f"y{at}" for at in range(given["nn_index"])] + ["nn"]
        scores = {
            member: sum(parts.values()) for member, parts in fuse({"lexical": lexical, "nn": near}, weights).items()
        }
        winner = next(member for member in scores if member in ("lexical", "nn"))
        return {"nn_score": scores["nn"], "lexical_score": scores["lexical"], "winner": winner}
    return _fused(given, weights)


def _fused(given: Record, weights: Mapping[str, float]) -> Record:
    hidden = set(given.get("fails_filter", ()))
    legs = {
        name: [m for each in given[name] if (m := tuple(each) if isinstance(each, list) else each) not in hidden]
        for name in ("lexical", "nn")
    }
    scores = {member: sum(parts.values()) for member, parts in fuse(legs, weights).items()}
    behind = set(given.get("superseded", ()))
    order = sorted(scores, key=lambda member: member in behind)
    listed = [list(member) if isinstance(member, tuple) else member for member in order]
    return {"order": listed, "scores": {str(m): s for m, s in scores.items()}, "count": len(scores)}


def _popularity(relevance: Mapping[str, float], popularity: Mapping[str, float]) -> Record:
    from ranking.rerank import RankItem, RerankSettings, rerank
    from streams.recall import AnchorPrior, SpecPrior

    best = sorted(relevance, key=lambda anchor: -relevance[anchor])
    items = [RankItem(anchor=a, doc_kind="plan", base_score=relevance[a], base_rank=at) for at, a in enumerate(best, 1)]
    priors = {
        anchor: AnchorPrior(
            anchor=anchor,
            doc_kind="plan",
            as_of=NOW,
            run_id="v",
            exposures=100,
            consumptions=100.0 * share,
            spec=SpecPrior(prior=share, branch="full", shrunk_ctr=share, mean_ctr_kind=0.2, recency_factor=1.0),
        )
        for anchor, share in popularity.items()
    }
    return {"order": list(rerank(items, priors, now=NOW, settings=RerankSettings(mode="on"), limit=10).shown)}


def degraded(given: Record) -> Record:
    if "cases" in given:
        return {"outcomes": [_filter_outcome(given["threadId"], case) for case in given["cases"]]}
    if "meta" in given:
        return _identity_change(given["meta"], given["now"])
    if "fault" in given:
        return _damaged(given["fault"])
    if given.get("event") == "embedding_became_ready":
        return _became_ready(given["docs"])
    if "embedMode" in given:
        try:
            parse_mode(given["embedMode"])
        except ConfigError:
            return {"error": "invalid_config"}
    return _faulty_search(given)


def _thread_world(store: SearchStore, results: int) -> None:
    store.put(
        [thread_document("t9", [Message(message_id=f"m{at}", content="kettle") for at in range(results)])], origin="v"
    )


def _filter_outcome(thread: str, case: Record) -> str:
    from memory.search.answer import filter_outcome

    fake = AngleEmbedder({})
    fake.fails = case["degraded"]
    with a_store(fake) as store:
        if case["results"]:
            _thread_world(store, case["results"])
        mode: Mode = "hybrid" if case["degraded"] else "lexical"
        answer = store.search(SearchRequest(query="kettle", thread_id=thread, depth="raw", mode=mode))
    return filter_outcome(answer)


def _identity_change(meta: Record, now: Record) -> Record:
    def identity(given: Record) -> Identity:
        return Identity(provider="fake", model=given["id"], revision=str(given.get("rev", "")), dim=2)

    with tempfile.TemporaryDirectory() as folder:
        docs = [hashed(Document(anchor=f"D{at}", title=f"kettle {at}")) for at in range(3)]
        old = {**now, "dim": meta["dim"]} if meta["dim"] != now["dim"] else meta
        with SearchStore.open(Path(folder), embedder=AngleEmbedder({}, identity(meta))) as store:
            store.put(docs, origin="v")
            total = store.embed()
        with SearchStore.open(Path(folder), embedder=AngleEmbedder({}, identity(now))) as store:
            again = store.embed()
            with store.index_db.read() as db:
                spaces = db.execute("SELECT count(*) FROM spaces").fetchall()[0][0]
        del old
    return {"cleared": again == total, "reembed_all": again == total, "mixed": spaces != 1}


def _became_ready(count: int) -> Record:
    with tempfile.TemporaryDirectory() as folder:
        docs = [hashed(Document(anchor=f"D{at}", title=f"kettle {at}")) for at in range(count)]
        with SearchStore.open(Path(folder)) as store:
            store.put(docs, origin="v")
        with SearchStore.open(Path(folder), embedder=AngleEmbedder({})) as store:
            store.embed()
            answer = store.search(SearchRequest(query="kettle", mode="hybrid"))
    share = answer.coverage.embedded_share if answer.coverage else None
    return {"vectors_eventually": round((share or 0.0) * count)}


def _damaged(fault: str) -> Record:
    with a_store() as store:
        store.put([hashed(Document(anchor=f"D{at}", title=f"kettle {at}")) for at in range(3)], origin="v")

        def harm(db: apsw.Connection) -> None:
            db.execute("DELETE FROM docs_fts WHERE rowid = 2")
            if fault == "fts_stale_row":
                db.execute("INSERT INTO docs_fts (rowid, title, summary, keywords) VALUES (2, 'old words', '', '')")

        store.index_db.write(harm)
        report = store.check()
    return {"ok": report.ok, "missing": len(report.of("fts_row_missing"))}


class _Broken:
    """A connection pool whose reads fail."""

    def read(self) -> Any:
        raise apsw.IOError("disk")


def _faulty_search(given: Record) -> Record:
    fake = AngleEmbedder({})
    count, vectors = given.get("docs", 3), given.get("vectors")
    mode = given.get("embedMode", "on")
    with a_store(fake, mode) as store:
        docs = [
            hashed(
                Document(
                    anchor=f"D{at:03}", title=f"kettle {at}", passages=(Passage(passage_id="p", text=f"kettle {at}"),)
                )
            )
            for at in range(count)
        ]
        if vectors is None:
            store.put(docs, origin="v")
            store.embed()
        else:
            store.put(docs[:vectors], origin="v")
            if vectors:
                store.embed()
            store.put(docs, origin="v")
        fake.fails = given.get("embedding") in ("down", "throws")
        if given.get("vector_search") == "error":
            store.index_db.write(lambda db: db.execute("DROP TABLE vectors_1").close())
            store.vectors.forget_cache()
        if given.get("store") == "throws":
            store.searcher._index = _Broken()  # type: ignore[assignment]  # the fault of the vector
        answer = store.search(request_of(given, "kettle"))
    found = [hit.anchor for hit in answer.hits]
    return {
        "degraded": answer.degraded,
        "reason": answer.degraded_reason,
        "effectiveMode": answer.effective_mode,
        "results": found if given.get("store") == "throws" else len(found),
        "has_lexical_results": bool(found),
        "coverage": answer.coverage.embedded_share if answer.coverage else None,
    }


def drilldown_area(given: Record) -> Record:
    if "collection" in given:
        return {}
    place = given.get("passage") or {}
    found = Passage(
        passage_id=place.get("passageId", f"msg-{place.get('messageId', '')}"),
        text="",
        thread_id=place.get("threadId", ""),
        message_id=place.get("messageId", ""),
        session_id=place.get("sessionId", ""),
        start_line=place.get("line_from", 0),
        end_line=place.get("line_to", 0),
    )
    root = given.get("source_root", "/w/app/docs")
    row = DocRow(
        id=1, anchor=given["anchor"], kind=given["kind"], status="active", title="", summary="",
        path=given.get("source_path") or "", authority="observed", updated_ms=None,
        superseded_by=given.get("superseded_by"), head=None, is_demoted=False, is_archived=False,
        origin=f"files:{root}",
    )  # fmt: skip
    hint = drilldown(row, found if place else None)
    answer: Record = {"drilldown": hint, "next": hint["next"] if hint and "next" in hint else []}
    if hint is None:
        return answer
    params = dict(hint["params"])
    answer |= {"tool": hint["tool"], "params": params}
    if "file_path" in params:
        answer["path"] = str(Path(params["file_path"]).relative_to(Path(root).parent))
        answer["line_from"] = params["offset"]
        answer["line_to"] = params["offset"] + params["limit"] - 1
    return answer


def _recall(name: str) -> Callable[[Record], Record]:
    """Return an adapter of the other file, which builds on this one."""

    def adapter(given: Record) -> Record:
        from tests.memory import vectors_recall

        answer: Record = getattr(vectors_recall, name)(given)
        return answer

    return adapter


AREAS: dict[str, Callable[[Record], Record]] = {
    "frontmatter": frontmatter,
    "kind_inference": kind_inference,
    "edges": edges,
    "passages": passages_area,
    "search_filters": search_filters,
    "superseded": superseded,
    "hybrid_rrf": hybrid_rrf,
    "degraded": degraded,
    "drilldown": drilldown_area,
    "relaxation": _recall("relaxation"),
    "graph": _recall("graph"),
    "coverage": _recall("coverage"),
}

AREAS_OUTCOME: dict[str, Callable[[Record], Record]] = {
    "nudge": _recall("nudge"),
    "list_recent": _recall("list_recent"),
}
"""Parts of the area `outcome`."""
