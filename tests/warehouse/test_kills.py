"""A sink or a compaction killed at any write loses nothing, doubles nothing, and leaves a catalog that opens."""

from __future__ import annotations

import multiprocessing
import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from benches.warehouse_roles import Feed, committed, sink
from tests.warehouse.builders import T0
from warehouse.job import Compactor
from warehouse.storage.store import LocalStorage
from warehouse.store import Warehouse

FEED = Feed(batch=2, end=8, day=T0, days=2)
NOW = T0 + timedelta(days=5)
_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["benches.warehouse_roles"])


def killed_at(write: int, root: Path, work: str) -> None:
    """Die before the file of this number is renamed into place, in the middle of whatever writes it."""
    replace, seen = os.replace, 0

    def dying(source: Path, target: Path) -> Path:
        nonlocal seen
        seen += 1
        if seen == write:
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)
        return Path(target)

    os.replace = dying  # type: ignore[assignment]
    Path.replace = dying  # type: ignore[assignment,method-assign]
    if work == "sink":
        sink(root, FEED)
    else:
        Compactor(LocalStorage(root / "tables"), root).run(NOW, grace=timedelta(0))


def run(write: int, root: Path, work: str) -> int | None:
    process = _context.Process(target=killed_at, args=(write, root, work))
    process.start()
    process.join()
    return process.exitcode


def counts(root: Path) -> tuple[int, int]:
    question = "SELECT count(*), count(DISTINCT recall_id) FROM recall_events"
    with Warehouse(root).connect() as connection:
        [(rows, ids)] = connection.execute(question).fetchall()
    return rows, ids


@pytest.mark.parametrize("write", [3, 10, 17])
def test_a_killed_sink_goes_on_where_it_was(tmp_path: Path, write: int) -> None:
    status = run(write, tmp_path, "sink")
    rows, ids = counts(tmp_path)

    again = run(0, tmp_path, "sink")

    assert (status, again) == (-signal.SIGKILL, 0)
    assert rows == ids
    assert committed(tmp_path) == FEED.end
    assert counts(tmp_path) == (8, 8)


@pytest.mark.parametrize("write", [1, 3, 5])
def test_a_killed_compaction_changes_no_answer_and_leaves_no_scratch(tmp_path: Path, write: int) -> None:
    run(0, tmp_path, "sink")

    status = run(write, tmp_path, "compactor")
    between = counts(tmp_path)
    again = run(0, tmp_path, "compactor")

    assert (status, again) == (-signal.SIGKILL, 0)
    assert between == counts(tmp_path) == (8, 8)
    assert not [path for path in tmp_path.iterdir() if path.is_dir() and path.name.startswith(".")]
