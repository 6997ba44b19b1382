"""Values with every field defaulted, so that a test names only what it is about."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from streams.events import AgentId, EventId, InvocationId, SessionId, Source, ToolCalled, ToolUseId
from streams.recall import Candidate, Consumption, DocRef, RecallEvent, ResultStatus
from streams.testing import LocalLog
from streams.topics import RECALL_EVENTS
from warehouse.sink import GROUP, SINK_TOPICS, Sink
from warehouse.store import Warehouse

T0 = datetime(2026, 11, 3, 9, 0, tzinfo=UTC)


def a_candidate(rank: int, anchor: str | None = None, **fields: Any) -> Candidate:
    name = anchor or f"F{rank}"
    target = DocRef(path=f"docs/{name}.md", anchor=name)
    defaults: dict[str, Any] = {"anchor": name, "rank": rank, "target": target}
    return Candidate(**defaults | fields)


def a_consumption(rank: int | None, anchor: str | None = None, **fields: Any) -> Consumption:
    name = anchor or f"F{rank}"
    defaults: dict[str, Any] = {
        "anchor": name,
        "rank": rank,
        "target": DocRef(path=f"docs/{name}.md", anchor=name),
        "tool_use_id": f"read-{name}",
        "method": "Read",
        "consumed_at": T0 + timedelta(seconds=5),
        "distance": 1,
        "elapsed_ms": 5000,
        "rule": "doc-path",
    }
    return Consumption(**defaults | fields)


def a_recall(recall_id: str = "r1", **fields: Any) -> RecallEvent:
    defaults: dict[str, Any] = {
        "recall_id": recall_id,
        "revision": 1,
        "phase": "final",
        "occurred_at": T0,
        "agent_id": "agent-a",
        "runtime": "claude-code",
        "invocation_id": f"inv-{recall_id}",
        "session_id": "s1",
        "root_session_id": "s1",
        "tool": "search_evidence",
        "tool_use_id": f"use-{recall_id}",
        "surface": "memory",
        "query": "where is it",
        "result_status": ResultStatus.COUNTED,
        "candidates": tuple(a_candidate(rank) for rank in range(1, 6)),
    }
    return RecallEvent(**defaults | fields)


def a_call(event_id: str, **fields: Any) -> ToolCalled:
    defaults: dict[str, Any] = {
        "event_id": EventId(event_id),
        "occurred_at": T0,
        "agent_id": AgentId("agent-a"),
        "runtime": "claude-code",
        "source": Source(adapter="test"),
        "invocation_id": InvocationId("inv-1"),
        "session_id": SessionId("s1"),
        "root_session_id": SessionId("s1"),
        "tool_use_id": ToolUseId(f"use-{event_id}"),
        "tool": "Read",
    }
    return ToolCalled(**defaults | fields)


async def emit_recalls(log: LocalLog, recalls: Iterable[RecallEvent]) -> None:
    emitter = log.emitter()
    for recall in recalls:
        await emitter.emit(RECALL_EVENTS.name, key=recall.recall_id, value=msgspec.json.encode(recall))


async def land(log: LocalLog, root: Path, **options: Any) -> Sink:
    """Run a sink over everything that is on the log, and stop it."""
    consumer = log.consumer(SINK_TOPICS, group=GROUP)
    sink = Sink(consumer, root, emitter=log.emitter(), **options)
    sink.prepare()
    while sum((await consumer.lag()).values()):
        await sink.step()
        if not sum((await consumer.lag()).values()):
            await sink.flush()  # may send dead letters, which are to be landed as well
    stop = asyncio.Event()
    stop.set()
    await sink.run(stop)
    await consumer.close()
    return sink


def a_warehouse(root: Path, recalls: Sequence[RecallEvent]) -> Warehouse:
    """Return a warehouse that holds these searches, landed by the real sink."""

    async def fill() -> None:
        log = LocalLog()
        await emit_recalls(log, recalls)
        await land(log, root)

    asyncio.run(fill())
    return Warehouse(root)
