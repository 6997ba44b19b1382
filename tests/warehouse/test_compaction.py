"""Compaction changes files, never answers; a reader on the list of before is not disturbed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from streams.clock import FixedClock
from streams.testing import LocalLog
from tests.warehouse.builders import T0, a_candidate, a_consumption, a_recall, emit_recalls, land
from warehouse import manifest, publisher
from warehouse.job import Compactor
from warehouse.schema import RECALL_EVENTS
from warehouse.storage.store import LocalStorage
from warehouse.store import Warehouse

pytestmark = pytest.mark.anyio

NOW = T0 + timedelta(days=3)
LATER = NOW + timedelta(hours=1)


async def fill(root: Path, *names: str, revision: int = 1, days: int = 2) -> None:
    log = LocalLog(clock=FixedClock(T0))
    recalls = [
        a_recall(
            name,
            revision=revision,
            occurred_at=T0 + timedelta(days=index % days),
            consumed=(a_consumption(1 + index % 3),),
            candidates=tuple(a_candidate(rank, doc_kind="feature") for rank in range(1, 4)),
        )
        for index, name in enumerate(names)
    ]
    await emit_recalls(log, recalls)
    await land(log, root, flush_rows=2)


def a_compactor(root: Path) -> Compactor:
    return Compactor(LocalStorage(root / "tables"), root)


def answers(root: Path) -> dict[str, object]:
    warehouse = Warehouse(root)
    views = ("recall_fact", "recall_candidate", "recall_consumption", "anchor_daily")
    return {
        "events": warehouse.recall_events(limit=1000),
        "measures": [(v.name, v.value, v.n, v.low) for v in warehouse.measures(NOW, 30)],
        "anchors": warehouse.anchors(NOW),
        **{view: warehouse.sql(f"SELECT * FROM {view} ORDER BY ALL") for view in views},
    }


async def test_every_answer_is_the_same_after_compaction(tmp_path: Path) -> None:
    await fill(tmp_path, *"abcdefg")
    await fill(tmp_path, "b", "c", revision=4)
    before = answers(tmp_path)

    done = a_compactor(tmp_path).run(NOW)

    assert done.days == 2
    assert answers(tmp_path) == before


async def test_flat_views_read_their_files_after_compaction(tmp_path: Path) -> None:
    await fill(tmp_path, *"abcd")

    a_compactor(tmp_path).run(NOW)

    live = publisher.live(LocalStorage(tmp_path / "tables"), "recall_events")
    assert {name: len(files) for name, files in live.flat.items()} == {
        "recall_fact": 2,
        "recall_candidate": 2,
        "recall_consumption": 2,
        "anchor_daily": 2,
    }
    assert live.unflattened == []


async def test_a_revision_that_lands_after_compaction_replaces_the_compacted_one(tmp_path: Path) -> None:
    await fill(tmp_path, "a", "b")
    a_compactor(tmp_path).run(NOW)
    await fill(tmp_path, "a", revision=9)

    rows = Warehouse(tmp_path).sql("SELECT recall_id, revision FROM recall_fact ORDER BY recall_id")
    a_compactor(tmp_path).run(NOW)

    assert rows == [{"recall_id": "a", "revision": 9}, {"recall_id": "b", "revision": 1}]
    assert Warehouse(tmp_path).sql("SELECT recall_id, revision FROM recall_fact ORDER BY recall_id") == rows


async def test_absorbed_files_stay_through_their_grace_and_go_after_it(tmp_path: Path) -> None:
    await fill(tmp_path, *"abcd")
    storage = LocalStorage(tmp_path / "tables")
    landed = storage.find("recall_events/dt=2026-11-03")

    a_compactor(tmp_path).run(NOW)
    during = storage.find("recall_events/dt=2026-11-03")
    done = a_compactor(tmp_path).run(LATER)

    assert during == landed
    assert storage.find("recall_events/dt=2026-11-03") == []
    assert set(landed) <= set(done.deleted)
    assert len(Warehouse(tmp_path).recall_events()) == 4


async def test_a_second_run_finds_nothing_to_do(tmp_path: Path) -> None:
    await fill(tmp_path, *"abcd")
    a_compactor(tmp_path).run(NOW)

    assert a_compactor(tmp_path).run(LATER).days == 0


async def test_a_day_that_is_still_open_is_left_until_it_is_crowded(tmp_path: Path) -> None:
    await fill(tmp_path, *"abcd", days=1)

    assert a_compactor(tmp_path).run(T0 + timedelta(hours=1)).days == 0


async def test_what_a_killed_compaction_wrote_before_its_commit_is_not_seen_and_removed(tmp_path: Path) -> None:
    await fill(tmp_path, *"abcd")
    storage = LocalStorage(tmp_path / "tables")
    orphan = f"{manifest.folder('recall_events', T0.date())}/recall_events-000000000000.parquet"
    storage.put(orphan, storage.get(storage.find("recall_events/dt=2026-11-03")[0]))
    before = answers(tmp_path)

    done = a_compactor(tmp_path).run(NOW)

    assert orphan in done.deleted
    assert answers(tmp_path) == before


async def test_an_expired_day_is_gone_from_the_answers_at_once_and_from_disk_after_the_grace(tmp_path: Path) -> None:
    await fill(tmp_path, *"abcd")
    storage = LocalStorage(tmp_path / "tables")

    done = a_compactor(tmp_path).run(NOW, retention={"recall_events": 2})
    left = Warehouse(tmp_path).sql("SELECT DISTINCT dt::VARCHAR AS dt FROM recall_fact")
    a_compactor(tmp_path).run(LATER, retention={"recall_events": 2})

    assert done.expired == ["recall_events/dt=2026-11-03"]
    assert left == [{"dt": "2026-11-04"}]
    assert storage.find("recall_events/dt=2026-11-03") == []


async def test_only_one_process_compacts_at_a_time(tmp_path: Path) -> None:
    await fill(tmp_path, *"abcd")
    first, second = a_compactor(tmp_path), a_compactor(tmp_path)

    with first.alone():
        done = second.run(NOW)

    assert done.busy
    assert done.days == 0


async def test_flat_files_of_other_sql_are_not_used_and_made_anew(tmp_path: Path) -> None:
    await fill(tmp_path, *"abcd")
    storage = LocalStorage(tmp_path / "tables")
    a_compactor(tmp_path).run(NOW)
    before = answers(tmp_path)
    for path in storage.find("_compact", manifest.NAME):
        storage.put(path, storage.get(path).replace(publisher.flat_version().encode(), b"older-sql"))

    publisher.publish(storage, tmp_path / "catalog.duckdb")
    between = publisher.live(storage, RECALL_EVENTS.name)
    assert answers(tmp_path) == before
    a_compactor(tmp_path).run(NOW)

    assert len(between.unflattened) == 2
    assert publisher.live(storage, RECALL_EVENTS.name).unflattened == []
    assert answers(tmp_path) == before
