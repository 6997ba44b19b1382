"""Adapters from the shapes of the vector files to the real correlator; nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from correlator.documents import NO_DOCUMENTS, Documents
from correlator.methods import handles_of, shell_of
from correlator.offline import correlate
from correlator.shell import classify
from correlator.target_match import match
from streams import outcome as sidecar
from streams.events import (
    AgentId,
    DocumentIndexed,
    EventId,
    InvocationId,
    SessionId,
    Source,
    TokenCost,
    ToolCalled,
    ToolStatus,
    ToolUseId,
)
from streams.recall import (
    Candidate,
    DocRef,
    InvocationRef,
    PassageRef,
    RecallEvent,
    RecallOutcome,
    SessionRef,
    TargetRef,
    TaskTrajectory,
    ThreadRef,
    UrlRef,
)
from tests.correlator.vectors_outcome import outcome
from tests.correlator.vectors_trajectory import trajectory

Record = dict[str, Any]
EPOCH = datetime(2031, 1, 1, tzinfo=UTC)
MEMORY_TOOLS = ("search_evidence", "graph_resolve", "list_recent")


def instant(ms: float) -> datetime:
    return EPOCH + timedelta(milliseconds=ms)


def to_ref(record: Record) -> TargetRef:
    kind = record["kind"]
    if kind == "doc":
        return DocRef(path=record.get("sourcePath") or "", anchor=record.get("anchor") or "")
    if kind == "thread":
        return ThreadRef(thread_id=record["threadId"])
    if kind == "session":
        return SessionRef(session_id=record["sessionId"])
    if kind == "invocation":
        return InvocationRef(session_id=record.get("sessionId") or "", invocation_id=record["invocationId"])
    if kind == "passage":
        return PassageRef(passage_id=record["passageId"], thread_id=record.get("threadId") or "")
    return UrlRef(url=record["url"])


def from_ref(ref: TargetRef) -> Record:
    if isinstance(ref, DocRef):
        return {"kind": "doc", "sourcePath": ref.path, "anchor": ref.anchor}
    names = {
        "thread_id": "threadId",
        "session_id": "sessionId",
        "invocation_id": "invocationId",
        "passage_id": "passageId",
        "url": "url",
    }
    fields = msgspec.to_builtins(ref)
    return {"kind": fields["kind"], **{new: fields[old] for old, new in names.items() if fields.get(old)}}


def to_event(record: Record, index: int) -> ToolCalled:
    recall = None
    if "candidates" in record or record["tool"] in MEMORY_TOOLS:
        shown = tuple(
            Candidate(
                anchor=each["anchor"],
                rank=each["rank"],
                target=DocRef(path=each.get("source_path") or "", anchor=each["anchor"]),
            )
            for each in record.get("candidates", ())
        )
        status, count = sidecar.settle(len(shown))
        recall = RecallOutcome(result_status=status, result_count=count, candidates=shown)
        if record.get("status", "ok") != "ok":
            recall = None
    tokens = TokenCost(**record["tokens"], quality="native") if "tokens" in record else TokenCost()
    statuses = {each.value for each in ToolStatus}
    status_word = record.get("status", "ok")
    return ToolCalled(
        event_id=EventId(f"e{index}"),
        occurred_at=instant(record["t"]),
        ended_at=instant(record["ended_at"]) if "ended_at" in record else instant(record["t"]),
        agent_id=AgentId(record["agent"]),
        runtime="vector",
        source=Source(adapter="native"),
        invocation_id=InvocationId(record["inv"]),
        session_id=SessionId("s"),
        root_session_id=SessionId("s"),
        tool_use_id=ToolUseId(f"{index:06d}"),
        turn_index=index,
        tool=record["tool"],
        input=record.get("input", {}),
        status=ToolStatus(status_word) if status_word in statuses else ToolStatus.ERROR,
        tokens=tokens,
        recall=recall,
    )


def concluded(given: Record) -> tuple[dict[int, RecallEvent], list[TaskTrajectory]]:
    """RecallEvents by position of their search, and the trajectories."""
    indexed = given.get("indexed_docs", ())
    documents = Documents(
        DocumentIndexed(anchor=each["anchor"], path=each["source_path"], doc_kind="plan", occurred_at=EPOCH)
        for each in indexed
    )
    events = [to_event(record, index) for index, record in enumerate(given["events"])]
    recalls, trajectories = correlate(events, documents=documents if indexed else NO_DOCUMENTS)
    return {int(recall.tool_use_id): recall for recall in recalls}, trajectories


def memory_positions(given: Record) -> list[int]:
    order = sorted(range(len(given["events"])), key=lambda index: (given["events"][index]["t"], index))
    return [index for index in order if given["events"][index]["tool"] in MEMORY_TOOLS]


def target_match(given: Record) -> Record:
    if "infer_target_ref_from" in given:
        raw = given["infer_target_ref_from"]
        ref = sidecar.target_of(
            raw["anchor"],
            path=raw.get("sourcePath") or "",
            doc_kind=raw.get("docKind"),
            passage_id=raw.get("passageId") or "",
            thread_id=raw.get("threadId") or "",
            session_id=raw.get("sessionId") or "",
            invocation_id=raw.get("invocationId") or "",
        )
        return {"target_ref": from_ref(ref)}
    call = to_event({"t": 0, "agent": "a", "inv": "v", "tool": given["method"], "input": given["tool_input"]}, 0)
    call = msgspec.structs.replace(call, recall=None)
    ref = to_ref(given["target_ref"])
    handles = handles_of(call, shell_of(call))
    return {"match": any(match(handle, ref) is not None for handle in handles)}


def shell_read(given: Record) -> Record:
    return {"paths": list(classify(given["command"]).paths)}


def _pool(recall: RecallEvent) -> list[str]:
    return list(dict.fromkeys(each.anchor for each in recall.consumed if each.rank is not None))


def per_search(given: Record) -> Record:
    recalls, _ = concluded(given)
    return {"__by_event__": {index: _of_recall(recall) for index, recall in recalls.items()}}


def _of_recall(recall: RecallEvent) -> Record:
    pool = [each for each in recall.consumed if each.rank is not None]
    cost = (recall.tokens_result or 0) + (recall.tokens_query or 0)
    return {
        "consumed_anchors": _pool(recall),
        "distance": pool[0].distance if pool else None,
        "reformulated": recall.reformulated,
        "abandoned": recall.abandoned,
        "zero_hit": recall.zero_hit,
        "fell_back_to_grep": recall.fell_back_to_grep,
        "next_graph_resolve_after_read": recall.next_graph_resolve_after_read,
        "dwell_ms_of_first_consumed": pool[0].dwell_ms if pool else None,
        "consumed_outside_pool": [
            {"anchor": each.anchor, "rank": each.rank} for each in recall.consumed if each.rank is None
        ],
        "token_cost": cost if recall.tokens_result is not None else None,
        "clarity": recall.clarity,
    }


def bundle(given: Record) -> Record:
    recalls, _ = concluded(given)
    ordered = [recalls[index] for index in memory_positions(given)]
    labels: dict[str, str] = {}
    names = [labels.setdefault(recall.bundle_id, "pqrstuvwxyz"[min(len(labels), 10)]) for recall in ordered]
    credits = [[each.credit for each in recall.consumed if each.rank is not None] for recall in ordered]
    return {
        "bundle_of_each_memory_event": names,
        "clarity_of_each_memory_event": [recall.clarity for recall in ordered],
        "credit_of_each_memory_event": [min(each) if each else None for each in credits],
    }


AREAS: dict[str, Callable[[Record], Record]] = {
    "target_match": target_match,
    "shell_read": shell_read,
    "window": per_search,
    "bundle": bundle,
    "booleans": per_search,
    "outcome": outcome,
    "trajectory": trajectory,
}
