"""Threads and sessions as the tools read them, from events that landed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.mcp.tools import Toolbox
from memory.store import SearchStore
from memory.threads.client import Conversations
from streams import codec
from streams.events import (
    AgentId,
    EventId,
    InvocationId,
    InvocationStarted,
    MessagePosted,
    SessionId,
    Source,
    ToolCalled,
    ToolEvent,
    ToolUseId,
    Touch,
)
from streams.testing import LocalLog
from streams.topics import MESSAGES, TOOL_EVENTS
from tests.warehouse.builders import land
from warehouse.store import Warehouse

NOW = datetime(2031, 4, 1, 12, tzinfo=UTC)


def common(number: int, session: str = "s1") -> dict[str, object]:
    return {
        "event_id": EventId(f"e{number}"),
        "occurred_at": NOW + timedelta(seconds=number),
        "agent_id": AgentId("otter"),
        "runtime": "claude-code",
        "source": Source(adapter="test"),
        "invocation_id": InvocationId("i1"),
        "session_id": SessionId(session),
        "root_session_id": SessionId("s1"),
        "thread_id": "t1",
    }


def a_message(number: int, text: str, author: str = "agent") -> MessagePosted:
    return MessagePosted(**common(number), message_id=f"m{number}", author_kind=author, text=text)  # type: ignore[arg-type]


def a_call(number: int, tool: str, path: str, op: str, session: str = "s1") -> ToolCalled:
    touched = (Touch(op=op, path=path),)  # type: ignore[arg-type]
    return ToolCalled(**common(number, session), tool_use_id=ToolUseId(f"u{number}"), tool=tool, touched=touched)  # type: ignore[arg-type]


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Toolbox]:
    async def landed() -> None:
        log = LocalLog()
        emitter = log.emitter()
        events: list[ToolEvent] = [
            InvocationStarted(**common(1), prompt="Why does the kettle leak?"),  # type: ignore[arg-type]
            a_call(2, "Read", "docs/kettle.md", "read"),
            a_call(3, "Edit", "docs/kettle.md", "edit"),
        ]
        await emitter.emit(TOOL_EVENTS.name, key="s1", value=codec.encode(events))
        await emitter.emit(TOOL_EVENTS.name, key="s1", value=codec.encode([a_call(9, "Bash", "", "list", "s2")]))
        messages = [a_message(1, "boil?", "operator"), a_message(2, "yes"), a_message(3, "then descale it")]
        await emitter.emit(MESSAGES.name, key="t1", value=codec.encode(messages))
        await land(log, tmp_path)

    asyncio.run(landed())
    with SearchStore.open(tmp_path / "memory") as store:
        yield Toolbox(store=store, conversations=Conversations(Warehouse(tmp_path)))


def test_a_thread_is_read_around_a_message_with_its_speakers(tools: Toolbox) -> None:
    reply = tools.get_thread_context("t1", "m2", before=1, after=0)

    assert [(m["speaker"], m["text"]) for m in reply.structured["messages"]] == [("user", "boil?"), ("otter", "yes")]
    assert reply.structured["total"] == 3


def test_a_message_that_is_not_there_is_said(tools: Toolbox) -> None:
    with pytest.raises(ValueError, match="no message 'm99'"):
        tools.get_thread_context("t1", "m99")


def test_threads_are_listed_with_who_spoke(tools: Toolbox) -> None:
    assert tools.list_threads().structured["threads"] == [{"thread_id": "t1", "messages": 3, "authors": ["otter"]}]


def test_a_lineage_shows_its_sessions_oldest_first(tools: Toolbox) -> None:
    sessions = tools.list_session_chain("s2").structured["sessions"]

    assert [(s["session_id"], s["calls"]) for s in sessions] == [("s1", 2), ("s2", 1)]


def test_a_digest_says_what_was_asked_opened_and_changed(tools: Toolbox) -> None:
    found = tools.read_session_digest("s1").structured

    assert found["prompts"] == ("Why does the kettle leak?",)
    assert (found["opened"], found["changed"]) == (("docs/kettle.md",), ("docs/kettle.md",))


def test_events_are_read_page_by_page(tools: Toolbox) -> None:
    first = tools.read_session_events("s1", 0, 2).structured
    second = tools.read_session_events("s1", first["next_after"], 2).structured

    assert len(first["events"]) == 2
    assert ["Edit" in line for line in second["events"]] == [True]
    assert second["next_after"] is None


def test_an_invocation_is_read_whole_and_an_unknown_one_is_said(tools: Toolbox) -> None:
    assert len(tools.read_invocation_detail("s1", "i1").structured["events"]) == 4  # with its subagent's call
    with pytest.raises(ValueError, match="no invocation"):
        tools.read_invocation_detail("s1", "i9")
