"""A writer, three readers and a compaction loop at once; then sinks and compactors killed at random moments.

Bars: in 30 s with 20 files a second no reader sees an error or a row twice and the newest row is less than 1 s old for
95 % of the questions; after 50 SIGKILLs nothing is lost or doubled, and the catalog opened after each of them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from benches.warehouse_roles import Feed, Seen, committed, compactor, look, reader, sink
from warehouse import publisher
from warehouse.job import Compactor
from warehouse.storage.store import LocalStorage
from warehouse.store import Warehouse

READERS = 3
FILES_PER_S = 20.0
STALE_S = 1.0
WARM_S = 3.0
"""Processes start in the meantime; then the feed begins."""

_context = multiprocessing.get_context("forkserver")


def started(work: Any, *arguments: Any) -> BaseProcess:
    """Return a process that does some work of `warehouse_roles`."""
    process = _context.Process(target=work, args=arguments, daemon=True)
    process.start()
    return process


def told(what: str, value: object, bar: str, *, met: bool) -> bool:
    """Print a figure beside its bar, and return whether it is met."""
    print(f"  {what:<44} {value!s:>12}   bar {bar:<10} {'met' if met else 'MISSED'}")
    return met


def concurrent(seconds: float) -> bool:
    """Run writer, readers and compactor at once; print and judge."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        storage = LocalStorage(root / "tables")
        publisher.seed(storage)
        publisher.publish(storage, root / publisher.CATALOG)
        begin = time.time() + WARM_S
        feed = Feed(start=begin, per_s=FILES_PER_S, day=datetime.now(UTC).replace(hour=0, minute=0))
        workers = [
            started(sink, root, feed),
            started(compactor, root, timedelta(seconds=5), 1.0),
        ]
        pipes = [_context.Pipe(duplex=False) for _ in range(READERS)]
        readers = [started(reader, root, begin + seconds, 0.1, out) for _, out in pipes]
        seen = [read.recv() for read, _ in pipes]
        landed = committed(root) / feed.batch / seconds
        for process in (*workers, *readers):
            process.terminate()
            process.join()
        compactions = sum(path.name.startswith("recall_events-") for path in root.glob("tables/_compact/**/*.parquet"))
        files = len(storage.find("recall_events"))
    return judge(seen, landed, f"{compactions} compacted files and {files} landed ones lay there at the end")


def judge(seen: list[Seen], landed: float, note: str) -> bool:
    """Print what the readers saw, and return whether all bars are met."""
    stale = sorted(age for each in seen for age in each.staleness_s)
    p50, p95 = (stale[int(len(stale) * share)] for share in (0.5, 0.95))
    errors = [error for each in seen for error in each.errors]
    print(f"writer, {len(seen)} readers, compaction loop: {sum(each.queries for each in seen)} questions; {note}")
    for error in errors[:3]:
        print(f"  {error}")
    return all(
        [
            told("files landed a second", f"{landed:.1f}", f">= {FILES_PER_S * 0.95:.0f}", met=landed >= 19),
            told("reader errors", len(errors), "0", met=not errors),
            told("rows seen twice", (n := sum(each.duplicates for each in seen)), "0", met=not n),
            told("answers with fewer rows than before", (n := sum(each.vanished for each in seen)), "0", met=not n),
            told("staleness p50 (s)", f"{p50:.2f}", "-", met=True),
            told("staleness p95 (s)", f"{p95:.2f}", f"< {STALE_S:.0f}", met=p95 < STALE_S),
        ]
    )


def kills(count: int, seed: int) -> bool:
    """Kill sinks and compactors, start them again, then land the rest; print and judge."""
    dice, seen, rows = random.Random(seed), Seen(), 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        feed = Feed(day=datetime.now(UTC) - timedelta(days=5), days=3)
        begin = {"sink": partial(started, sink, root, feed)}
        begin["compactor"] = partial(started, compactor, root, timedelta(seconds=2), 0.0)
        running = {name: start() for name, start in begin.items()}
        for _ in range(count):
            time.sleep(dice.uniform(0.05, 1.5))
            victim = dice.choice(sorted(running))
            running[victim].kill()
            running[victim].join()
            rows = look(Warehouse(root), seen, rows)
            running[victim] = begin[victim]()
        for process in running.values():
            process.kill()
            process.join()
        end = committed(root) + 10 * feed.batch
        last = started(sink, root, Feed(day=feed.day, days=feed.days, end=end))
        last.join()
        Compactor(LocalStorage(root / "tables"), root).run(datetime.now(UTC))
        look(Warehouse(root), seen, rows)
        [found] = Warehouse(root).sql(
            "SELECT count(*) AS n, count(DISTINCT recall_id::INTEGER) "
            f"FILTER (recall_id::INTEGER BETWEEN 0 AND {end - 1}) AS ids FROM recall_events"
        )
        [flat] = Warehouse(root).sql("SELECT count(*) - count(DISTINCT recall_id) AS doubled FROM recall_fact")
        scratch = [path for path in root.iterdir() if path.is_dir() and path.name.startswith(".")]
    print(f"{count} SIGKILLs of sink and compactor, {end:,} rows:")
    for error in seen.errors[:3]:
        print(f"  {error}")
    return all(
        [
            told("rows lost", end - found["ids"], "0", met=found["ids"] == end),
            told("rows doubled", (n := found["n"] - found["ids"] + flat["doubled"] + seen.duplicates), "0", met=n == 0),
            told("catalogs that did not open", len(seen.errors), "0", met=not seen.errors),
            told("answers with fewer rows than before", seen.vanished, "0", met=not seen.vanished),
            told("scratch folders left behind", len(scratch), "0", met=not scratch),
        ]
    )


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    _context.set_forkserver_preload(["benches.warehouse_roles"])
    met = [concurrent(arguments.seconds), kills(arguments.kills, arguments.seed)]
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
