"""The tools that agents call, as functions of a store: text for the agent, structured content, the outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from memory.coverage.client import cover
from memory.coverage.store import StoreSources
from memory.graph.client import GraphAnswer, resolve_graph
from memory.mcp.format import answer_text, coverage_lines, graph_lines, recent_line
from memory.model import Answer, Hit, Mode, SearchRequest
from memory.search.answer import outcome
from memory.search.nudge import coverage_nudge
from memory.store import SearchStore
from memory.threads.client import Conversations, around
from memory.threads.digest import digest, digest_lines, event_line
from ranking.explain import Estimator
from ranking.rerank import RerankSettings, ranker_id
from streams.outcome import settle, target_of, to_fields, with_sidecar
from streams.recall import Candidate, RecallOutcome

MAX_LIMIT = 20
MAX_TEXT_CHARS = 24_000
"""Of a page of events or messages. Source: F200 HW-1 (response budget)."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool answers."""

    text: str
    """For the agent."""
    structured: dict[str, Any]
    outcome: RecallOutcome | None = None
    """What a search says of itself; null for tools that do not search."""
    is_error: bool = False

    def sealed(self, result_set_id: str | None = None) -> Reply:
        """Return the reply as it is sent: its outcome with this id, as the text's last line and in the structure."""
        if self.outcome is None:
            return self
        said = msgspec.structs.replace(self.outcome, result_set_id=result_set_id)
        return Reply(
            with_sidecar(self.text, said), {"recall_meta": to_fields(said), **self.structured}, said, self.is_error
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The tools over one store, and over one warehouse where there is one."""

    store: SearchStore
    conversations: Conversations | None = None
    ranking: Callable[[], Mapping[str, Any]] | None = None
    """Asked at every search for the request's fields of ranking, so that a verdict of the gate counts at once."""
    default_mode: Mode = "lexical"

    def search_evidence(
        self, query: str, *, mode: Mode | None = None, limit: int = 5, offset: int = 0, **fields: Any
    ) -> Reply:
        """Search the store; `fields` are further fields of the request.

        Raises:
            ValueError: for a field that cannot be read.
        """
        wanted = max(1, min(limit, MAX_LIMIT))
        if fields.get("intent") == "coverage":
            return self._coverage(query, mode or self.default_mode, fields.get("scope", "all"), offset, wanted)
        request = SearchRequest(
            query=query,
            mode=mode or self.default_mode,
            limit=wanted,
            **(self.ranking() if self.ranking is not None else {}),
            **fields,
        )
        return search_reply(self.store.search(request))

    def _coverage(self, query: str, mode: Mode, scope: str, offset: int, limit: int) -> Reply:
        if scope not in ("all", "docs", "threads"):
            raise ValueError(f"expected scope all, docs or threads for a coverage search, got {scope!r}")
        matrix = cover(StoreSources(self.store, mode), query, scope=scope)
        page = matrix.page(offset, limit)
        status, count = settle(
            len(page), total=len(matrix.rows), offset=offset, degraded=bool(matrix.degraded), timed_out=matrix.timed_out
        )
        said = RecallOutcome(
            result_status=status,
            result_count=count,
            query=query,
            mode=mode,
            effective_mode=mode,
            degraded=bool(matrix.degraded),
            degraded_reason="; ".join(matrix.degraded) or None,
            scope=scope,
            intent="coverage",
            truncated=offset + len(page) < len(matrix.rows),
            candidates=tuple(
                Candidate(
                    anchor=one.anchor,
                    rank=offset + at,
                    target=target_of(one.anchor, path=one.path, doc_kind=one.kind or None),
                    doc_kind=one.kind or None,
                    title=one.title,
                    score={"total": round(one.confidence, 4)},
                )
                for at, one in enumerate(page, start=1)
            ),
        )
        rows = [{**asdict(one), "direct": one.is_direct, "confidence": round(one.confidence, 3)} for one in page]
        structured = {"rows": rows, "total": len(matrix.rows), "by_source": dict(matrix.by_source)}
        structured |= {"gaps": list(matrix.gaps), "offset": offset}
        return Reply("\n".join(coverage_lines(query, matrix, page, offset)), structured, said)

    def graph_resolve(self, query: str, *, depth: int = 1, relations: Sequence[str] = ()) -> Reply:
        """Resolve an id to the documents around it; other queries to candidates to choose from."""
        now = self.store.clock.now()
        asked = dict(self.ranking()) if self.ranking is not None else {}
        found = resolve_graph(
            self.store, query, depth=depth, relations=relations, now=now, rerank=asked.get("rerank", "off")
        )
        return graph_reply(query, found, estimator=asked.get("estimator", "spec"))

    def list_recent(
        self, since: str = "7d", *, scope: str = "all", kinds: Sequence[str] = (), limit: int = 20
    ) -> Reply:
        """List what changed since then, newest first.

        Raises:
            ValueError: for a `since` that cannot be read.
        """
        found = self.store.recent(since, scope=scope, kinds=kinds, limit=limit)
        status, count = settle(len(found.items))
        said = RecallOutcome(
            result_status=status,
            result_count=count,
            query=since,
            scope=scope,
            candidates=tuple(
                Candidate(
                    anchor=row.anchor,
                    rank=at,
                    target=target_of(row.anchor, path=row.path, doc_kind=row.kind),
                    doc_kind=row.kind,
                    title=row.title,
                )
                for at, row in enumerate(found.items, start=1)
            ),
        )
        lines = [f"{len(found.items)} changed since {found.since:%Y-%m-%d %H:%M} UTC:", *map(recent_line, found.items)]
        lines += [found.nudge] if found.nudge is not None else []
        items = [{"anchor": r.anchor, "kind": r.kind, "title": r.title, "path": r.file} for r in found.items]
        structured = {"items": items, "dropped_kinds": list(found.dropped)}
        return Reply("\n".join(lines), structured, said)

    def get_thread_context(
        self, thread_id: str, message_id: str | None = None, before: int = 3, after: int = 3
    ) -> Reply:
        """Read a thread around a message, or its newest part.

        Raises:
            ValueError: when there is no such thread or message.
        """
        messages = self._talk().messages(thread_id)
        if not messages:
            raise ValueError(f"no thread {thread_id!r} has been recorded")
        shown = around(messages, message_id, before, after)
        lines = [f"{m.at:%Y-%m-%d %H:%M} {m.agent or 'user'} [{m.message_id}]: {m.text}" for m in shown if m.at]
        rows = [{"message_id": m.message_id, "speaker": m.agent or "user", "text": m.text} for m in shown]
        return Reply(_bounded(lines), {"thread_id": thread_id, "messages": rows, "total": len(messages)})

    def list_threads(self, limit: int = 20) -> Reply:
        """List the threads that were active last."""
        found = self._talk().threads(limit)
        lines = [
            f"{info.thread_id}: {info.messages} messages, {', '.join(info.authors)}, last {info.last_at:%Y-%m-%d %H:%M}"
            for info in found
        ]
        threads = [{"thread_id": t.thread_id, "messages": t.messages, "authors": list(t.authors)} for t in found]
        return Reply("\n".join(lines) or "No thread has been recorded.", {"threads": threads})

    def list_session_chain(self, session_id: str) -> Reply:
        """List the sessions of a lineage or thread, oldest first.

        Raises:
            ValueError: when nothing is known of it.
        """
        found = self._talk().chain(session_id)
        if not found:
            raise ValueError(f"no session or thread {session_id!r} has been recorded")
        lines = [f"{s.session_id}: {s.agent_id}, {s.calls} calls, {s.started_at:%Y-%m-%d %H:%M} UTC" for s in found]
        rows = [{"session_id": s.session_id, "agent_id": s.agent_id, "calls": s.calls} for s in found]
        return Reply("\n".join(lines), {"sessions": rows})

    def read_session_digest(self, session_id: str) -> Reply:
        """Read what a session asked, searched, opened and changed.

        Raises:
            ValueError: when nothing is known of it.
        """
        found = digest(session_id, self._talk().session_events(session_id))
        fields = {**asdict(found), "started_at": found.started_at.isoformat(), "ended_at": found.ended_at.isoformat()}
        return Reply("\n".join(digest_lines(found)), fields)

    def read_session_events(self, session_id: str, after: int = 0, limit: int = 50) -> Reply:
        """Read a session event by event, from the `after`-th on.

        Raises:
            ValueError: when nothing is known of it.
        """
        events = self._talk().session_events(session_id, after=after, limit=limit)
        if not events and after == 0:
            raise ValueError(f"no session {session_id!r} has been recorded")
        lines = [event_line(event) for event in events]
        following = after + len(events) if len(events) == limit else None
        return Reply(_bounded(lines), {"session_id": session_id, "events": lines, "next_after": following})

    def read_invocation_detail(self, session_id: str, invocation_id: str) -> Reply:
        """Read one invocation call by call.

        Raises:
            ValueError: when nothing is known of it.
        """
        events = self._talk().invocation_events(session_id, invocation_id)
        if not events:
            raise ValueError(f"no invocation {invocation_id!r} of session {session_id!r} has been recorded")
        lines = [event_line(event) for event in events]
        return Reply(_bounded(lines), {"invocation_id": invocation_id, "events": lines})

    def reflect(self, query: str, limit: int = 8) -> Reply:
        """Gather the passages that bear on a question, with their sources, for the agent to reason over.

        No model is asked: the answer says so, and is never a made-up summary.
        """
        answer = self.store.search(
            SearchRequest(query=query, mode=self.default_mode, depth="raw", limit=max(1, min(limit, MAX_LIMIT)))
        )
        quoted = [f"[{hit.anchor}] {found.passage.text}" for hit in answer.hits for found in hit.passages[:1]] or [
            f"[{hit.anchor}] {hit.snippet}" for hit in answer.hits
        ]
        head = f'{len(quoted)} passages bear on "{query}". No model has judged them: read, then conclude.'
        text = "\n\n".join([head if quoted else f'Nothing found that bears on "{query}".', *quoted])
        return Reply(_bounded([text]), structured(answer), outcome(answer), is_error=answer.failed)

    def retain_memory(self, content: str, tags: Sequence[str] = ()) -> Reply:
        """Remember a text for later searches.

        Raises:
            ValueError: for an empty text or one of more than 50,000 characters.
        """
        anchor, support = self.store.retain(content, tags)
        times = "" if support == 1 else f" It has now been asked for {support} times."
        return Reply(f"Remembered as {anchor}.{times}", {"anchor": anchor, "support": support})

    def _talk(self) -> Conversations:
        if self.conversations is None:
            raise ValueError("threads and sessions need a data folder with landed events: run `trodden import` first")
        return self.conversations


def _bounded(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    return text if len(text) <= MAX_TEXT_CHARS else text[:MAX_TEXT_CHARS] + "\n[cut: ask for a smaller part]"


def search_reply(answer: Answer) -> Reply:
    """Return an answer as a tool's reply."""
    text = answer_text(answer, nudge=coverage_nudge(answer.request.query))
    return Reply(text, structured(answer), outcome(answer), is_error=answer.failed)


def graph_reply(query: str, found: GraphAnswer, *, estimator: Estimator = "spec") -> Reply:
    """Return a graph answer as a tool's reply: the nodes in order, or the candidates."""
    resolution, graph, anchors = found.shown.resolution, found.shown.graph, found.shown.order
    status, count = settle(len(anchors))
    said = RecallOutcome(
        result_status=status,
        result_count=count,
        query=query,
        truncated=graph.truncated if graph is not None else False,
        resolved_anchor=resolution.resolved,
        candidates=tuple(_node(anchor, at, found.hits.get(anchor)) for at, anchor in enumerate(anchors, start=1)),
        base_order=found.base_order,
        reranked_order=found.reranked_order,
        ranker_id=None if found.mode == "off" else ranker_id(RerankSettings(estimator=estimator)),
        ranker_mode=None if found.mode == "off" else found.mode,
        priors_as_of=found.priors_as_of,
    )
    structured_graph = {
        "status": resolution.status,
        "resolved": resolution.resolved,
        "note": resolution.note,
        "nodes": list(anchors),
        "edges": [asdict(edge) for edge in graph.edges] if graph is not None else [],
        "candidates": [
            {"anchor": s.candidate.anchor, "match": s.match, "score": s.score, "parts": s.parts}
            for s in resolution.ranked
        ],
    }
    return Reply("\n".join(graph_lines(query, found)), structured_graph, said)


def _node(anchor: str, rank: int, hit: Hit | None) -> Candidate:
    if hit is not None:
        return Candidate(anchor=anchor, rank=rank, target=hit.target, doc_kind=hit.kind, title=hit.title)
    return Candidate(anchor=anchor, rank=rank, target=target_of(anchor))


def structured(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain JSON data: the results, and the state of the index."""
    coverage = answer.coverage
    return {
        "results": [_result(hit) for hit in answer.hits],
        "confident": answer.confident,
        "tier": answer.tier,
        "total": answer.total,
        "findings": list(answer.findings),
        "truncated_terms": answer.truncated_terms,
        "elapsed_ms": round(answer.elapsed_ms, 3),
        "index_age_seconds": answer.index_age_seconds,
        "index": None
        if coverage is None
        else {
            "documents": coverage.documents,
            "passages": coverage.passages,
            "embedded": coverage.embedded,
            "to_embed": coverage.to_embed,
            "generation": coverage.generation,
        },
    }


def trajectory_item(
    *, trajectory_id: str, verified: bool, files_read: Sequence[str], files_modified: Sequence[str], title: str = ""
) -> dict[str, Any]:
    """Return a trajectory as a listing shows it: what it came to, with counts instead of lists."""
    return {
        "id": trajectory_id,
        "kind": "trajectory",
        "title": title,
        "verified": verified,
        "files_read": len(files_read),
        "files_modified": len(files_modified),
    }


def _result(hit: Hit) -> dict[str, Any]:
    return {
        "anchor": hit.anchor,
        "rank": hit.rank,
        "kind": hit.kind,
        "title": hit.title,
        "path": hit.file,
        "status": hit.status,
        "authority": hit.authority,
        "updated_at": None if hit.updated_at is None else hit.updated_at.isoformat(),
        "score": hit.score,
        "score_parts": dict(hit.score_parts),
        "tier": hit.tier,
        "ranking": None if hit.explanation is None else msgspec.to_builtins(hit.explanation),
        "needs_review": list(hit.needs_review),
        "snippet": hit.snippet,
        "reason": hit.reason,
        "notices": list(hit.notices),
        "passages": [
            {
                "passage_id": found.passage.passage_id,
                "lines": [found.passage.start_line, found.passage.end_line],
                "text": found.passage.text,
                "context": [passage.text for passage in found.context],
            }
            for found in hit.passages
        ],
        "open": dict(hit.drilldown) if hit.drilldown is not None else None,
    }
