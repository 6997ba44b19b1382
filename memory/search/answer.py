"""From ranked candidates to an answer: order, hits with snippets and ways to open them, and the sidecar of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.index.segment import has_cjk
from memory.model import Answer, Hit, Passage, PassageHit
from memory.search.filters import from_epoch_ms
from memory.search.query import Query
from memory.search.relax import TIERS, Tier
from memory.search.store import DocRow
from memory.sources.markdown import cut
from ranking.explain import Explanation
from ranking.serve import Served
from streams.outcome import settle, target_of
from streams.recall import Candidate, RecallOutcome

SNIPPET_CHARS = 240


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document on its way into the answer."""

    doc: DocRow
    tier: Tier
    parts: Mapping[str, float]
    """Score by leg."""
    is_asked_for: bool = False
    """Named by its exact id."""
    is_pinned: bool = False
    passage_rows: tuple[int, ...] = ()
    """Its passages that matched, best first; their text is only read for what is shown."""
    passages: tuple[PassageHit, ...] = ()
    is_confident: bool = True

    @property
    def score(self) -> float:
        """Sum over the legs."""
        return sum(self.parts.values())


def base_order(found: Sequence[Ranked], *, is_raw: bool = False) -> list[Ranked]:
    """Return results in order: asked-for ids, then pins, then live ones, then those that something replaced.

    At depth raw, documents with a matching passage come before those without.

    A document that was asked for by its id is never hidden behind its successor.
    """
    return sorted(
        found,
        key=lambda item: (
            not item.is_asked_for,
            is_raw and not item.passage_rows,
            item.doc.is_demoted and not item.is_asked_for,
            item.doc.is_archived and not item.is_asked_for,
            not item.is_pinned,
        ),
    )


def with_successors(found: Sequence[Ranked], heads: Iterable[DocRow]) -> list[Ranked]:
    """Put the newest successor of each asked-for document right behind it."""
    held = {item.doc.anchor: item for item in found}
    fresh = {doc.anchor: Ranked(doc, "pin", {"pin": 1.0 / 60.0}, is_pinned=True) for doc in heads}
    result: dict[str, Ranked] = {}
    for item in found:
        result.setdefault(item.doc.anchor, item)
        head = item.doc.head
        if item.is_asked_for and head is not None and (successor := held.get(head) or fresh.get(head)) is not None:
            result.setdefault(head, successor)
    return list(result.values())


def tightest(found: Sequence[Ranked]) -> Tier | None:
    """Return the tightest tier of some results."""
    return min((item.tier for item in found), key=TIERS.index, default=None)


def hit(item: Ranked, rank: int, query: Query, explanation: Explanation | None, flags: Sequence[str]) -> Hit:
    """Return a result as the caller sees it."""
    doc = item.doc
    best = item.passages[0].passage if item.passages else None
    thread = best.thread_id if best is not None else ""
    parts = dict(explanation.parts) if explanation is not None else dict(item.parts)
    return Hit(
        anchor=doc.anchor,
        rank=rank,
        kind=doc.kind,
        title=doc.title,
        path=doc.path,
        file=doc.file,
        status=doc.status,
        authority=doc.authority,
        updated_at=from_epoch_ms(doc.updated_ms),
        snippet=snippet(best.text if best is not None else doc.summary, query) or cut(doc.summary, SNIPPET_CHARS),
        target=target_of(doc.anchor, path=doc.path, doc_kind=doc.kind, thread_id=thread),
        tier=item.tier,
        reason=_reason(item, explanation),
        score=explanation.score if explanation is not None else item.score,
        score_parts=parts,
        superseded_by=doc.superseded_by,
        successor=doc.head or doc.superseded_by,
        notices=_notices(doc),
        needs_review=tuple(flags),
        passages=item.passages,
        drilldown=drilldown(doc, best),
        explanation=explanation,
    )


def _reason(item: Ranked, explanation: Explanation | None) -> str:
    words = {
        "pin": "named by its id" if item.is_asked_for else "its title holds the query",
        "and": "holds every term",
        "min_match": "holds at least half of the terms",
        "strong": "holds the ids and another term",
        "or": "holds some of the terms",
        "entity_or_semantic": "close in meaning, or one of its names",
    }
    said = words[item.tier]
    return f"{said}; {explanation.sentence()}" if explanation is not None else said


def _notices(doc: DocRow) -> tuple[str, ...]:
    said: list[str] = []
    if doc.superseded_by is not None:
        newest = f", newest {doc.head}" if doc.head not in (None, doc.superseded_by) else ""
        said.append(f"superseded by {doc.superseded_by}{newest}")
    elif doc.is_demoted:
        said.append(f"status {doc.status}")
    if doc.is_archived:
        said.append("archived")
    return tuple(said)


def drilldown(doc: DocRow, passage: Passage | None) -> dict[str, Any] | None:
    """Return the tool call that opens a result where it matched; null when nothing can.

    `next` names what to open after it: the document that replaced it.
    """
    hint = _opening(doc, passage)
    successor = doc.head or doc.superseded_by
    if successor is None:
        return hint
    return {**(hint or {"tool": "graph_resolve", "params": {"query": doc.anchor}}), "next": [{"open": successor}]}


def filter_outcome(answer: Answer) -> str:
    """Return what a filter on one thread came to: a zero is authoritative only when everything worked."""
    if answer.hits:
        return "matched"
    return "degraded_empty" if answer.degraded else "authoritative_empty"


def _opening(doc: DocRow, passage: Passage | None) -> dict[str, Any] | None:
    if passage is not None and passage.message_id and passage.thread_id:
        around = {"threadId": passage.thread_id, "messageId": passage.message_id, "before": 3, "after": 3}
        return {"tool": "get_thread_context", "params": around}
    if passage is not None and passage.session_id and passage.passage_id.startswith("transcript-"):
        invocation = passage.passage_id.removeprefix("transcript-")
        return {
            "tool": "read_invocation_detail",
            "params": {"sessionId": passage.session_id, "invocationId": invocation},
        }
    if doc.kind == "thread":
        return {"tool": "get_thread_context", "params": {"threadId": doc.anchor.removeprefix("thread-")}}
    if doc.kind == "session":
        return {"tool": "read_session_digest", "params": {"sessionId": doc.anchor.removeprefix("session-")}}
    if not doc.path or ".." in doc.path.split("/") or doc.path.startswith("/"):
        return None
    start, end = (passage.start_line, passage.end_line) if passage is not None and passage.start_line else (1, 120)
    return {"tool": "Read", "params": {"file_path": doc.file, "offset": start, "limit": end - start + 1}}


def snippet(text: str, query: Query) -> str:
    """Return a piece of a text around the first place where the query occurs."""
    flat = " ".join(text.split())
    if len(flat) <= SNIPPET_CHARS:
        return flat
    place = min((at for at in (_find(flat, term.text) for term in query.terms) if at >= 0), default=0)
    start = max(0, place - SNIPPET_CHARS // 4)
    if start > 0 and not has_cjk(flat[start : start + 1]) and (space := flat.find(" ", start, place)) >= 0:
        start = space + 1
    piece = flat[start:]
    return ("…" if start else "") + cut(piece, SNIPPET_CHARS)


def _find(text: str, term: str) -> int:
    if has_cjk(term):
        return text.find(term)
    found = re.search(rf"(?<![^\W_]){re.escape(term)}", text, re.IGNORECASE)
    return found.start() if found is not None else -1


def outcome(answer: Answer) -> RecallOutcome:
    """Return what the answer says of itself to machines: the sidecar."""
    request, reranked = answer.request, answer.reranked
    status, count = settle(len(answer.hits), degraded=answer.degraded and not answer.hits, failed=answer.failed)
    kept = request.limit + ORDER_BELOW

    def logged(order: Sequence[str] | None) -> tuple[str, ...] | None:
        ran = reranked is not None and reranked.reranked_order is not None
        return tuple(order[:kept]) if ran and order is not None else None

    return RecallOutcome(
        result_status=status,
        result_count=count,
        query=request.query,
        mode=request.mode,
        effective_mode=answer.effective_mode,
        degraded=answer.degraded,
        degraded_reason=answer.degraded_reason,
        scope=request.scope,
        depth=request.depth,
        intent=request.intent,
        candidates=tuple(candidate(found, answer.served) for found in answer.hits),
        base_order=logged(reranked.base_order) if reranked is not None else None,
        reranked_order=logged(reranked.reranked_order) if reranked is not None else None,
        other_order=logged(reranked.other_order) if reranked is not None else None,
        ranker_id=reranked.ranker_id if reranked is not None else None,
        ranker_mode=answer.served.ranker_mode if answer.served is not None else None,
        priors_as_of=answer.priors_as_of,
    )


ORDER_BELOW = 10
"""Places of both orders below the cut that the sidecar keeps: more than any reranker may reach across."""


def candidate(found: Hit, served: Served | None = None) -> Candidate:
    """Return a hit as the sidecar's candidate, with the chance it had to stand where it stands."""
    return Candidate(
        anchor=found.anchor,
        rank=found.rank,
        target=found.target,
        doc_kind=found.kind,
        title=found.title,
        score={**{name: round(part, 6) for name, part in found.score_parts.items()}, "total": round(found.score, 6)},
        propensity=served.propensities.get(found.anchor, 1.0) if served is not None else 1.0,
        team=served.teams.get(found.anchor) if served is not None else None,
    )
