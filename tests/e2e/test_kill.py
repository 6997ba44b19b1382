"""Workers that are killed in the middle of an import change nothing in the end."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from correlator.offline import correlate
from deploy.importing import publish_sessions
from deploy.settings import Settings
from deploy.stack import CORRELATOR, SINK, Stack
from streams.events import ToolEvent
from tests.e2e.sessions import write_sessions
from warehouse.store import Warehouse

pytestmark = pytest.mark.broker


def settings_for(folder: Path) -> Settings:
    return Settings(data=folder, flush_seconds=0.2, partitions=2)


async def import_and_kill(settings: Settings, sessions: Path, victims: tuple[str, ...]) -> int:
    """Import while the victims are killed as soon as each has something in hand; return how many were killed."""
    killed = 0
    async with Stack(settings, roles=(CORRELATOR, SINK)) as stack:
        importing = asyncio.create_task(publish_sessions(stack, [sessions]))
        for victim in victims:
            await until_it_has_landed_something(settings, importing)
            os.kill(stack.children[victim].process.pid, signal.SIGKILL)
            killed += 1
        await importing
    return killed


async def until_it_has_landed_something(settings: Settings, importing: asyncio.Task[object]) -> None:
    """Return once the sink has landed one more file than now, or the import is over."""
    before = len(list(settings.tables_dir.rglob("*.parquet")))
    while len(list(settings.tables_dir.rglob("*.parquet"))) == before and not importing.done():  # noqa: ASYNC110  # other processes write the files
        await asyncio.sleep(0.01)


def landed(settings: Settings) -> list[dict[str, Any]]:
    """Return the derived tables row for row, without where on the log each row came from."""
    warehouse = Warehouse(settings.data_dir)
    where_from = "* EXCLUDE (_topic, _partition, _offset, _index, _logged_at)"
    return [
        *warehouse.sql(f"SELECT {where_from} FROM recall_events ORDER BY recall_id"),
        *warehouse.sql(f"SELECT {where_from} FROM trajectories ORDER BY trajectory_id"),
    ]


def concluded_offline(settings: Settings) -> dict[str, tuple[int, str, int]]:
    """Return what the pure core makes of the raw events that have landed: id -> revision, phase, consumptions."""
    events = [e for e in Warehouse(settings.data_dir).tool_events() if isinstance(e, ToolEvent)]
    recalls, _ = correlate(events)
    return {recall.recall_id: (recall.revision, recall.phase, len(recall.consumed)) for recall in recalls}


@pytest.mark.timeout(180)
def test_killed_workers_leave_the_tables_of_an_undisturbed_run(tmp_path: Path) -> None:
    sessions = write_sessions(tmp_path / "sessions")
    calm, rough = settings_for(tmp_path / "calm"), settings_for(tmp_path / "rough")

    asyncio.run(import_and_kill(calm, sessions, ()))
    killed = asyncio.run(import_and_kill(rough, sessions, ("correlator", "sink", "correlator", "sink")))

    assert killed == 4
    assert landed(rough) == landed(calm)
    rows = [row for row in landed(calm) if "recall_id" in row]
    assert {r["recall_id"]: (r["revision"], r["phase"], len(r["consumed"])) for r in rows} == concluded_offline(calm)
    assert any(row["consumed"] for row in rows)
