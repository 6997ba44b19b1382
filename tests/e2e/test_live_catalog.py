"""The catalog can be read while the workers run, and grows under the reader's eyes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import duckdb
import pytest

from deploy.importing import publish_sessions
from deploy.settings import Settings
from deploy.stack import CORRELATOR, SINK, Stack
from tests.e2e.sessions import write_sessions

pytestmark = pytest.mark.broker


def count(settings: Settings) -> int:
    """Count the recall events, as an analyst would."""
    with duckdb.connect(str(settings.data_dir / "catalog.duckdb"), read_only=True) as db:
        return int(db.execute("SELECT count(*) FROM recall_events").fetchall()[0][0])


async def counts_after_each(settings: Settings, files: list[Path]) -> list[int]:
    async with Stack(settings, roles=(CORRELATOR, SINK)) as stack:
        found = []
        for file in files:
            await publish_sessions(stack, [file])
            found.append(count(settings))
            assert all(child.alive for child in stack.children.values())
        return found


def test_the_count_of_recall_events_grows_while_the_workers_run(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", flush_seconds=0.2, partitions=2)
    files = sorted(write_sessions(tmp_path / "sessions").glob("*.jsonl"))[:3]

    counts = asyncio.run(counts_after_each(settings, files))

    assert 0 < counts[0] < counts[1] < counts[2]
