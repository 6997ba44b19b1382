"""The MCP server as an agent sees it, and the events that its calls leave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from memory.mcp.publisher import CallPublisher
from memory.mcp.server import Telemetry, build
from memory.mcp.tools import Toolbox
from memory.store import SearchStore
from streams import codec, outcome
from streams.clock import FixedClock
from streams.events import ToolCalled, ToolStatus
from streams.log import Emitter
from streams.testing import LocalLog
from streams.topics import TOOL_EVENTS

NOW = datetime(2031, 4, 1, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SearchStore]:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "kettle.md").write_text(
        "# Kettle care\n\nDescale the kettle monthly.\n\n除垢每月一次。\n", encoding="utf-8"
    )
    with SearchStore.open(tmp_path / "data", clock=FixedClock(NOW)) as opened:
        opened.index(docs)
        yield opened


def call(store: SearchStore, emit: Callable[[ToolCalled], None], tool: str, **arguments: Any) -> Any:
    """Call one tool as a client does, over the protocol."""

    async def run() -> Any:
        async with Client(build(Toolbox(store=store), Telemetry(emit, FixedClock(NOW), "s1"))) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(run())


def test_a_search_answers_text_and_the_same_outcome_as_sidecar_and_structure(store: SearchStore) -> None:
    events: list[ToolCalled] = []

    result = call(store, events.append, "search_evidence", query="除垢")

    text = result.content[0].text
    said = outcome.parse(text)
    assert text.startswith('Found 1 result(s) for "除垢"')
    assert said is not None
    assert said == outcome.from_structured(result.structured_content) == events[0].recall
    assert (events[0].tool, events[0].status, events[0].input["query"]) == ("search_evidence", ToolStatus.OK, "除垢")


def test_a_search_answers_although_its_event_cannot_be_published(store: SearchStore) -> None:
    def refuse(event: ToolCalled) -> None:
        raise OSError("disk full")

    result = call(store, refuse, "search_evidence", query="kettle")

    assert not result.is_error


def test_calls_wait_in_the_spool_until_a_broker_is_there(store: SearchStore, tmp_path: Path) -> None:
    async def nobody() -> Emitter | None:
        return None

    log = LocalLog()

    async def somebody() -> Emitter | None:
        return log.emitter()

    events: list[ToolCalled] = []
    call(store, events.append, "search_evidence", query="kettle")

    async def one_after_the_other() -> list[Path]:
        async with CallPublisher(tmp_path / "spool", "first", nobody) as publisher:
            publisher.put(events[0])
        left = list((tmp_path / "spool").iterdir())
        async with CallPublisher(tmp_path / "spool", "second", somebody), asyncio.timeout(10):
            while not log.records(TOOL_EVENTS.name):  # noqa: ASYNC110 - the log in memory has no event to wait for
                await asyncio.sleep(0)
        return left

    waiting = asyncio.run(one_after_the_other())

    sent = [event for record in log.records(TOOL_EVENTS.name) for event in codec.decode(record.value or b"")[0]]
    assert len(waiting) == 1
    assert sent == events
    assert list((tmp_path / "spool").iterdir()) == []
