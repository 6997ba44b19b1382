"""What is forgotten stands in no file afterwards, and the figures are those of a run that never had it."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path

import pytest

from streams import codec
from streams.clock import FixedClock
from streams.errors import ConfigError, StorageUnavailable
from streams.events import AgentId, SessionId
from streams.recall import RecallEvent
from streams.testing import LocalLog
from streams.topics import RECALL_EVENTS, TOOL_EVENTS
from tests.warehouse import generate
from tests.warehouse.builders import T0, a_call, a_recall, a_warehouse, emit_recalls, land
from warehouse.erasure.job import forget, is_forgotten
from warehouse.erasure.selection import Selection
from warehouse.job import Compactor
from warehouse.storage.store import LocalStorage
from warehouse.store import Warehouse

pytestmark = pytest.mark.anyio

NOW = T0 + timedelta(days=12)


async def fill(root: Path, recalls: list[RecallEvent]) -> LocalLog:
    log = LocalLog(clock=FixedClock(T0))
    await emit_recalls(log, recalls)
    calls = [
        a_call(
            f"e-{agent}", agent_id=AgentId(agent), session_id=SessionId(f"s-{agent}"), input={"query": f"of {agent}"}
        )
        for agent in ("ada", "bob", "bob/sub1", "cyd")
    ]
    await log.emitter().emit(TOOL_EVENTS.name, key="s1", value=codec.encode(calls) + b'\n{"agent_id":"bob","kind":"?"}')
    await land(log, root, flush_rows=40)
    return log


def figures(warehouse: Warehouse) -> list[tuple[str, float | None, int]]:
    return [(value.name, value.value, value.n) for value in warehouse.measures(NOW, 30, surface=None)]


async def test_an_agent_is_forgotten_everywhere_and_figures_are_as_if_it_never_was(tmp_path: Path) -> None:
    recalls = generate.recalls(200, seed=3)
    log = await fill(tmp_path / "with", recalls)
    others = [recall for recall in recalls if recall.agent_id != "bob"]
    await fill(tmp_path / "without", others)
    Compactor(LocalStorage(tmp_path / "with" / "tables"), tmp_path / "with").run(NOW)

    receipt = await forget(tmp_path / "with", Selection(agent="bob"), NOW, emitter=log.emitter())

    assert is_forgotten(LocalStorage(tmp_path / "with" / "tables"), "bob") == []
    assert figures(Warehouse(tmp_path / "with")) == figures(Warehouse(tmp_path / "without"))
    forgotten = {recall.recall_id for recall in recalls if recall.agent_id == "bob"}
    assert receipt.tombstones == len(forgotten)
    tombstones = {record.key for record in log.records(RECALL_EVENTS.name) if record.value is None}
    assert tombstones == {name.encode() for name in forgotten}


async def test_the_receipt_counts_and_hashes_and_never_names_what_was_forgotten(tmp_path: Path) -> None:
    await fill(tmp_path, generate.recalls(50, seed=4))

    receipt = await forget(tmp_path, Selection(agent="bob"), NOW)

    [path] = (tmp_path / "receipts").iterdir()
    assert "bob" not in path.read_text()
    assert {day.table for day in receipt.days} == {"recall_events", "tool_events", "dead_letters"}
    tool_events = next(day for day in receipt.days if day.table == "tool_events")
    assert (tool_events.rows_forgotten, tool_events.rows_left) == (2, 2)  # bob and its subagent; ada and cyd
    assert set(tool_events.before) <= set(receipt.files_removed)


async def test_a_query_is_forgotten_by_its_hash(tmp_path: Path) -> None:
    secret = "the secret plan"
    log = await fill(tmp_path, [a_recall("r1", query=secret, tool_use_id="use-x"), a_recall("r2")])
    call = a_call("e9", tool_use_id="use-x", tool="search_evidence", input={"query": secret})
    await log.emitter().emit(TOOL_EVENTS.name, key="s1", value=codec.encode([call]))
    await land(log, tmp_path)

    await forget(tmp_path, Selection(query_hash=hashlib.sha256(secret.encode()).hexdigest()), NOW)

    assert is_forgotten(LocalStorage(tmp_path / "tables"), secret) == []
    assert [row["recall_id"] for row in Warehouse(tmp_path).recall_events()] == ["r2"]


async def test_a_session_is_forgotten_and_another_stays(tmp_path: Path) -> None:
    await fill(tmp_path, [a_recall("r1", session_id="s7", root_session_id="s7"), a_recall("r2", session_id="s8")])

    await forget(tmp_path, Selection(session="s7"), NOW)

    assert [row["recall_id"] for row in Warehouse(tmp_path).recall_events()] == ["r2"]


async def test_nothing_is_forgotten_while_a_compaction_runs(tmp_path: Path) -> None:
    await fill(tmp_path, [a_recall()])

    with (
        Compactor(LocalStorage(tmp_path / "tables"), tmp_path).alone(),
        pytest.raises(StorageUnavailable, match="compaction"),
    ):
        await forget(tmp_path, Selection(agent="agent-a"), NOW)


async def test_forgetting_what_is_not_there_changes_no_file(tmp_path: Path) -> None:
    await fill(tmp_path, [a_recall()])
    before = LocalStorage(tmp_path / "tables").find("")

    receipt = await forget(tmp_path, Selection(agent="nobody"), NOW)

    assert receipt.days == ()
    assert LocalStorage(tmp_path / "tables").find("") == before


def test_a_selection_names_exactly_one_thing() -> None:
    with pytest.raises(ConfigError, match="exactly one"):
        Selection()
    with pytest.raises(ConfigError, match="exactly one"):
        Selection(agent="a", thread="t")


def test_a_warehouse_that_was_emptied_still_answers(tmp_path: Path) -> None:
    import asyncio

    warehouse = a_warehouse(tmp_path, [a_recall()])
    asyncio.run(forget(tmp_path, Selection(agent="agent-a"), NOW))

    assert warehouse.recall_events() == []
