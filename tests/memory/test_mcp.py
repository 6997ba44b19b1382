"""The MCP server as an agent sees it, and the events that its calls leave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from correlator.identity import recall_id_of
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
    assert said.result_set_id == recall_id_of(events[0])
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


def test_every_tool_has_a_description_and_bounded_arguments(store: SearchStore) -> None:
    async def run() -> Any:
        async with Client(build(Toolbox(store=store), Telemetry(lambda _: None, FixedClock(NOW), "s1"))) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(run())}

    assert set(tools) == {
        *("search_evidence", "graph_resolve", "list_recent", "get_thread_context", "list_threads"),
        *("list_session_chain", "read_session_digest", "read_session_events", "read_invocation_detail"),
        *("reflect", "retain_memory"),
    }
    assert all(tool.description and tool.title and tool.annotations for tool in tools.values())
    assert tools["search_evidence"].input_schema["properties"]["limit"]["maximum"] == 20


def test_only_an_id_resolves_in_the_graph_and_other_words_give_candidates(store: SearchStore) -> None:
    events: list[ToolCalled] = []

    exact = call(store, events.append, "graph_resolve", query="doc:kettle")
    fuzzy = call(store, events.append, "graph_resolve", query="kettle")

    assert exact.structured_content["status"] == "graph"
    assert fuzzy.structured_content["status"] == "candidates"
    assert [event.recall.resolved_anchor for event in events if event.recall] == ["doc:kettle", None]


def test_what_was_retained_is_found_and_saying_it_again_adds_weight(store: SearchStore) -> None:
    events: list[ToolCalled] = []
    call(store, events.append, "retain_memory", content="The seal is 8 mm wide.", tags=["seal"])
    again = call(store, events.append, "retain_memory", content="the seal is 8 mm  wide")

    found = call(store, events.append, "search_evidence", query="seal 8 mm", scope="memory")

    assert again.structured_content["support"] == 2
    assert [result["anchor"] for result in found.structured_content["results"]] == [again.structured_content["anchor"]]


def test_a_coverage_search_names_its_sources_and_gaps(store: SearchStore) -> None:
    result = call(store, lambda _: None, "search_evidence", query="kettle", intent="coverage")

    assert result.structured_content["by_source"] == {"docs": 1, "threads": 0}
    assert "gap: nothing in threads" in result.content[0].text
    assert outcome.parse(result.content[0].text) == outcome.from_structured(result.structured_content)


def test_an_argument_that_cannot_be_read_is_said_and_nothing_breaks(store: SearchStore) -> None:
    events: list[ToolCalled] = []

    wrong = call(store, events.append, "list_recent", since="3 fortnights")
    missing = call(store, events.append, "read_session_digest", session_id="s1")

    assert wrong.is_error
    assert missing.is_error
    assert "3 fortnights" in wrong.content[0].text
    assert [event.status for event in events] == [ToolStatus.ERROR] * 2
