"""What is on the log stands in the tables: once, whole, on its day; what cannot is a dead letter."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import duckdb
import msgspec
import pytest

from streams import codec, deadletter
from streams.clock import FixedClock
from streams.log import Partition, Record
from streams.testing import LocalLog
from streams.topics import DOCUMENTS, RECALL_EVENTS, TOOL_EVENTS
from tests.warehouse.builders import T0, a_call, a_candidate, a_consumption, a_recall, emit_recalls, land
from warehouse import partition, publisher
from warehouse.sink import GROUP, SINK_TOPICS, Sink
from warehouse.storage.store import LocalStorage
from warehouse.store import Warehouse

pytestmark = pytest.mark.anyio


def a_log() -> LocalLog:
    return LocalLog(clock=FixedClock(T0))


async def test_a_search_lands_with_all_its_fields_and_defaults(tmp_path: Path) -> None:
    log = a_log()
    recall = a_recall(consumed=(a_consumption(2),), candidates=(a_candidate(1), a_candidate(2, score={"total": 0.5})))
    await emit_recalls(log, [recall])

    await land(log, tmp_path)

    [row] = Warehouse(tmp_path).recall_events()
    assert row["query"] == "where is it"
    assert row["reformulated"] is False
    assert row["candidates"][1]["score"] == {"total": 0.5}
    assert row["candidates"][1]["target"]["path"] == "docs/F2.md"
    assert row["candidates"][1]["target"]["thread_id"] is None
    assert row["consumed"][0]["credit"] == 1.0
    assert row["consumed"][0]["new_content"] is True


async def test_a_later_revision_replaces_an_earlier_one_whole_whatever_the_order_of_arrival(tmp_path: Path) -> None:
    log = a_log()
    final = a_recall(revision=5, reformulated=False)
    early = a_recall(revision=2, reformulated=True, phase="open")
    await emit_recalls(log, [final, early])

    await land(log, tmp_path)

    [row] = Warehouse(tmp_path).recall_events()
    assert (row["revision"], row["reformulated"]) == (5, False)


async def test_landing_the_same_records_again_adds_no_row_and_no_file(tmp_path: Path) -> None:
    log = a_log()
    await emit_recalls(log, [a_recall("r1"), a_recall("r2")])
    await land(log, tmp_path)
    files = LocalStorage(tmp_path / "tables").find("recall_events")

    replayed = a_log()
    await emit_recalls(replayed, [a_recall("r1"), a_recall("r2")])
    await land(replayed, tmp_path)

    assert LocalStorage(tmp_path / "tables").find("recall_events") == files
    assert len(Warehouse(tmp_path).recall_events()) == 2


async def test_a_broker_that_starts_its_offsets_anew_overwrites_nothing(tmp_path: Path) -> None:
    for name in ("r1", "r2", "r3"):
        log = LocalLog(partitions=1, clock=FixedClock(T0))
        await emit_recalls(log, [a_recall(name)])
        await land(log, tmp_path)

    assert {row["recall_id"] for row in Warehouse(tmp_path).recall_events()} == {"r1", "r2", "r3"}


async def test_the_same_records_cut_otherwise_are_counted_once(tmp_path: Path) -> None:
    log = LocalLog(partitions=1, clock=FixedClock(T0))
    await emit_recalls(log, [a_recall(f"r{n}") for n in range(10)])
    await land(log, tmp_path, flush_rows=3)
    again = LocalLog(partitions=1, clock=FixedClock(T0))
    await emit_recalls(again, [a_recall(f"r{n}") for n in range(10)])
    await land(again, tmp_path, flush_rows=7)

    assert Warehouse(tmp_path).sql("SELECT count(*) AS n FROM recall_events") == [{"n": 10}]


async def test_the_day_of_a_row_is_that_of_its_event_in_utc(tmp_path: Path) -> None:
    log = a_log()
    await emit_recalls(log, [a_recall(occurred_at=T0.replace(hour=23, minute=59)), a_recall("r2", occurred_at=T0)])
    await emit_recalls(log, [a_recall("r3", occurred_at=T0 + timedelta(days=1))])

    await land(log, tmp_path)

    rows = Warehouse(tmp_path).sql("SELECT dt::VARCHAR AS dt, count(*) AS n FROM recall_events GROUP BY dt ORDER BY dt")
    assert rows == [{"dt": "2026-11-03", "n": 2}, {"dt": "2026-11-04", "n": 1}]


async def test_raw_events_come_back_as_they_were_published(tmp_path: Path) -> None:
    log = a_log()
    events = [a_call(f"e{n}", occurred_at=T0 + timedelta(seconds=n), turn_index=n, input={"q": "锚"}) for n in range(3)]
    await log.emitter().emit(TOOL_EVENTS.name, key="s1", value=codec.encode(events))

    await land(log, tmp_path)

    assert list(Warehouse(tmp_path).tool_events()) == events


async def test_a_broken_line_becomes_a_dead_letter_and_its_neighbours_land(tmp_path: Path) -> None:
    log = a_log()
    good = codec.encode([a_call("e1")])
    await log.emitter().emit(TOOL_EVENTS.name, key="s1", value=good + b'\n{"kind":"Nonsense"}\n{broken')

    await land(log, tmp_path)

    letters = [deadletter.decode(record.value or b"") for record in log.records(TOOL_EVENTS.dead)]
    assert [letter.raw for letter in letters] == [b'{"kind":"Nonsense"}', b"{broken"]
    assert "Nonsense" in letters[0].reason
    assert len(list(Warehouse(tmp_path).tool_events())) == 1
    landed = Warehouse(tmp_path).sql("SELECT raw, stage, source_topic, source_line FROM dead_letters ORDER BY 4")
    assert [tuple(row.values()) for row in landed] == [
        (b'{"kind":"Nonsense"}', "schema", TOOL_EVENTS.name, 1),
        (b"{broken", "decode", TOOL_EVENTS.name, 2),
    ]


async def test_a_number_out_of_range_rejects_its_row_alone(tmp_path: Path) -> None:
    log = LocalLog(partitions=1, clock=FixedClock(T0))
    await emit_recalls(log, [a_recall("r1"), a_recall("huge", calls_in_window=2**40), a_recall("r3")])

    sink = await land(log, tmp_path)

    assert {row["recall_id"] for row in Warehouse(tmp_path).recall_events()} == {"r1", "r3"}
    assert sink.landed.rejected == 1
    assert len(log.records(RECALL_EVENTS.dead)) == 1


async def test_a_tombstone_of_a_document_says_that_it_is_gone(tmp_path: Path) -> None:
    log = a_log()
    document = {"anchor": "F1", "path": "docs/f1.md", "doc_kind": "feature", "occurred_at": T0.isoformat()}
    await log.emitter().emit(DOCUMENTS.name, key="F1", value=msgspec.json.encode(document))
    await log.emitter().emit(DOCUMENTS.name, key="F1", value=None)

    await land(log, tmp_path)

    assert Warehouse(tmp_path).sql("SELECT anchor, gone FROM documents") == [{"anchor": "F1", "gone": True}]


async def test_an_offset_is_committed_only_after_its_rows_have_landed(tmp_path: Path) -> None:
    log = LocalLog(partitions=1, clock=FixedClock(T0))
    await emit_recalls(log, [a_recall("r1")])
    sink = Sink(log.consumer(SINK_TOPICS, group=GROUP), tmp_path, flush_rows=2, flush_s=3600)
    sink.prepare()

    await sink.step()
    held = log.committed(GROUP)
    await emit_recalls(log, [a_recall("r2")])
    await sink.step()

    assert held == {}
    assert log.committed(GROUP) == {Partition(RECALL_EVENTS.name, 0): 2}
    assert len(LocalStorage(tmp_path / "tables").find("recall_events")) == 2  # the seed and one landed file


async def test_a_disk_that_refuses_holds_the_rows_until_it_takes_them(tmp_path: Path) -> None:
    log = LocalLog(partitions=1, clock=FixedClock(T0))
    await emit_recalls(log, [a_recall("r1")])
    sink = Sink(log.consumer(SINK_TOPICS, group=GROUP), tmp_path, flush_rows=1, retry_s=0)
    sink.prepare()
    blocked = tmp_path / "tables" / partition.folder("recall_events", T0.date())
    blocked.write_text("a file where the folder should be")

    await sink.step()
    refused = log.committed(GROUP)
    blocked.unlink()
    await sink.flush()

    assert refused == {}
    assert log.committed(GROUP) == {Partition(RECALL_EVENTS.name, 0): 1}


def test_an_empty_warehouse_answers_with_empty_tables(tmp_path: Path) -> None:
    assert Warehouse(tmp_path).recall_events() == []
    assert Warehouse(tmp_path).sql("SELECT count(*) AS n FROM trajectories") == [{"n": 0}]


def test_the_catalog_can_be_opened_read_only_and_never_for_writing(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "tables")
    publisher.seed(storage)
    publisher.publish(storage, tmp_path / "catalog.duckdb")

    connection = duckdb.connect(str(tmp_path / "catalog.duckdb"), read_only=True)

    assert connection.sql("SELECT count(*) FROM recall_fact").fetchall() == [(0,)]
    assert (tmp_path / "catalog.duckdb").stat().st_mode & 0o222 == 0
    connection.close()


def test_a_half_written_file_of_a_dead_writer_is_swept_and_never_read(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "tables")
    publisher.seed(storage)
    stale = tmp_path / "tables/recall_events/dt=2026-11-03/x.parquet.999999999.tmp"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"half")

    assert Warehouse(tmp_path).recall_events() == []
    assert storage.sweep() == ["recall_events/dt=2026-11-03/x.parquet.999999999.tmp"]
    assert not stale.exists()


def test_two_deliveries_of_one_dead_letter_are_one_row(tmp_path: Path) -> None:
    async def fill() -> None:
        log = LocalLog(partitions=1, clock=FixedClock(T0))
        for _ in range(2):
            await log.emitter().emit(TOOL_EVENTS.dead, key="s1", value=b"bad", headers={"reason": b"x", "offset": b"7"})
        await land(log, tmp_path)

    asyncio.run(fill())

    assert Warehouse(tmp_path).sql("SELECT count(*) AS n FROM dead_letters") == [{"n": 1}]


async def test_rows_of_one_day_land_in_one_file_whatever_partitions_they_came_from(tmp_path: Path) -> None:
    log = LocalLog(partitions=4, clock=FixedClock(T0))
    await emit_recalls(log, [a_recall(f"r{n}") for n in range(40)])

    sink = await land(log, tmp_path)

    rows = Warehouse(tmp_path).sql("SELECT count(DISTINCT _partition) AS parts, count(*) AS n FROM recall_events")
    assert rows == [{"parts": 4, "n": 40}]
    assert sink.landed.files == 1


async def test_what_is_held_of_a_lost_partition_is_dropped(tmp_path: Path) -> None:
    log = LocalLog(partitions=1, clock=FixedClock(T0))
    await emit_recalls(log, [a_recall("r1")])
    sink = Sink(log.consumer(SINK_TOPICS, group=GROUP), tmp_path, flush_s=3600)
    sink.prepare()
    await sink.step()

    sink.forget([Partition(RECALL_EVENTS.name, 0)])
    await sink.flush()

    assert sink.landed.rows == 0


def test_a_record_of_a_topic_we_do_not_land_makes_no_row() -> None:
    from warehouse import rows

    record = Record(topic="recall.anchor-priors.v1", partition=0, offset=0, key=b"F1", value=b"{}", timestamp=T0)

    assert rows.sort([record]).rows == {}


async def test_what_is_held_lands_early_when_nothing_more_comes(tmp_path: Path) -> None:
    log = LocalLog(partitions=1, clock=FixedClock(T0))
    await emit_recalls(log, [a_recall("r1")])
    sink = Sink(log.consumer(SINK_TOPICS, group=GROUP), tmp_path, flush_s=3600, idle_s=0)
    sink.prepare()

    await sink.step()

    assert sink.landed.rows == 1
