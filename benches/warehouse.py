"""What landing and measuring cost: rows landed per CPU second, and measures against a row loop and the best SQL shape.

Run with a number of searches (default 200,000): `python -m benches.warehouse 1000000`. Ratios are of CPU time in one
process on one machine; a loaded machine moves the absolute figures, hardly the ratios.
"""

from __future__ import annotations

import random
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import duckdb
import msgspec

from benches.warehouse_events import AGENTS, DAYS, START, message
from streams.log import Record
from streams.testing import LocalLog
from streams.topics import RECALL_EVENTS
from warehouse import partition, publisher
from warehouse.job import Compactor
from warehouse.sink import Sink
from warehouse.storage.store import LocalStorage
from warehouse.store import Warehouse

AS_OF = START + timedelta(days=DAYS)

FAMILY = (
    *(f"consumed_at_{k}" for k in (1, 3, 5, 10)),
    "readthrough_at_5",
    "consumed_mrr",
    "first_consumed_rank",
    "reformulation_rate",
    "search_abandon_rate",
    "grep_fallback_rate",
    "token_cost_per_hit",
)

BEST_SHAPE = """
SELECT dt, hash(invocation_id) % 100 AS part, count(*) AS n,
    count(*) FILTER (first_rank <= 1), count(*) FILTER (first_rank <= 3), count(*) FILTER (first_rank <= 5),
    count(*) FILTER (first_rank <= 10), sum(top_5), sum(coalesce(1.0 / first_rank, 0)), histogram(first_rank),
    count(*) FILTER (reformulated), count(*) FILTER (abandoned), count(*) FILTER (fell_back_to_grep),
    sum(tokens), sum(consumptions)
FROM recall_fact GROUP BY ALL
"""
"""One pass over the wide flat table, written by hand for just these figures and groups."""


def cpu(work: Callable[[], object], repeat: int = 3) -> float:
    """Return the least CPU seconds of some runs."""
    best = float("inf")
    for _ in range(repeat):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best


def landing(rows: int = 20_000) -> None:
    """Print rows landed per CPU second, from Kafka bytes to files that survive a power cut."""
    dice = random.Random(1)
    topic = RECALL_EVENTS.name
    messages = [message(number, dice) for number in range(rows)]
    records = [
        Record(topic=topic, partition=0, offset=offset, key=b"", value=value, timestamp=START)
        for offset, value in enumerate(messages)
    ]
    with tempfile.TemporaryDirectory() as folder:
        sink = Sink(LocalLog().consumer([topic], group="bench"), folder)
        for record in records:  # one day, as a sink sees it: old days come with imports alone
            object.__setattr__(record, "value", _on_first_day(record.value or b""))
        batches = [records[start : start + 5000] for start in range(0, rows, 5000)]
        spent = cpu(lambda: [sink.land(batch) for batch in batches])
    size = sum(map(len, messages)) / rows
    print(
        f"landing: {rows / spent:,.0f} rows per CPU second ({spent / rows * 1e6:.1f} us a search of {size:,.0f} bytes)"
    )


def _on_first_day(value: bytes) -> bytes:
    record = msgspec.json.decode(value)
    record["occurred_at"] = START.isoformat()
    return msgspec.json.encode(record)


def fill(root: Path, searches: int) -> None:
    """Land searches of 60 days straight as files, made by SQL, and compact them."""
    storage = LocalStorage(root / "tables")
    publisher.seed(storage)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    schema = f"SELECT * EXCLUDE (dt) FROM {publisher.scan(storage, [partition.seed('recall_events')])}"
    connection.execute(f"CREATE TABLE shape AS {schema}")
    sql = (Path(__file__).parent / "warehouse_fill.sql").read_text(encoding="utf-8")
    for day in range(DAYS):
        at = (START + timedelta(days=day)).date()
        connection.execute("DELETE FROM shape")
        each = searches // DAYS
        connection.execute(sql, {"day": at, "first": day * each, "last": (day + 1) * each})
        path = root / f"{day}.parquet"
        connection.execute(f"COPY shape TO '{path}' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)")
        storage.put_file(f"{partition.folder('recall_events', at)}/{day:016x}.parquet", path)
    connection.close()
    Compactor(storage, root).run(AS_OF + timedelta(days=1))


def measuring(searches: int) -> None:
    """Print the CPU of the measure family as it is served, by the best hand-written shape, and by a row loop."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        fill(root, searches)
        warehouse = Warehouse(root)

        def served() -> None:
            warehouse.measures(AS_OF, DAYS + 1, names=FAMILY, slice_by="day")

        def by_hand() -> None:
            warehouse.sql(BEST_SHAPE)

        ours, best = cpu(served), cpu(by_hand)
        loop = row_loop(warehouse, min(searches, 50_000)) * searches / min(searches, 50_000)
        anchors = cpu(lambda: warehouse.sql(ANCHORS), repeat=1)
        size = sum(storage.bytes for storage in warehouse.disk_usage())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"measuring {searches:,} searches x 10 candidates ({AGENTS} agents, {DAYS} days, {size / 1e6:.0f} MB on disk):"
    )
    print(f"  family as served, by day, with intervals {ours * 1e3:8.0f} ms CPU")
    print(f"  best SQL shape by hand                   {best * 1e3:8.0f} ms CPU   served / best = {ours / best:.2f}")
    print(f"  row loop, SQLite rows of JSON            {loop * 1e3:8.0f} ms CPU   loop / served = {loop / ours:.1f}")
    print(f"  30-day counts of every anchor            {anchors * 1e3:8.0f} ms CPU")
    print(f"  peak memory of this process              {peak:8.0f} MiB")


ANCHORS = (
    "SELECT anchor, sum(exposures), sum(consumptions), max(last_consumed_at) FROM anchor_daily "
    "WHERE dt >= DATE '2026-10-01' GROUP BY anchor"
)


def row_loop(warehouse: Warehouse, rows: int) -> float:
    """Return the CPU seconds of the same family as a Python loop over SQLite rows that hold JSON."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE recalls (at TEXT, row TEXT)")
    with warehouse.connect() as connection:
        query = (
            "SELECT dt::VARCHAR, to_json({'candidates': candidates, 'consumed': consumed, "
            "'reformulated': reformulated, 'abandoned': abandoned, 'grep': fell_back_to_grep, "
            "'tokens': tokens_result + tokens_query})::VARCHAR "
            f"FROM recall_events LIMIT {rows}"
        )
        database.executemany("INSERT INTO recalls VALUES (?, ?)", connection.execute(query).fetchall())

    def loop() -> None:
        groups: dict[str, list[float]] = {}
        for day, text in database.execute("SELECT at, row FROM recalls"):
            recall = msgspec.json.decode(text)
            ranks = [c["rank"] for c in recall["consumed"] if c["rank"] is not None]
            first = min(ranks, default=0)
            sums = groups.setdefault(day, [0.0] * 11)
            for index, k in enumerate((1, 3, 5, 10)):
                sums[index] += bool(first) and first <= k
            sums[4] += len({rank for rank in ranks if rank <= 5}) / 5 if recall["candidates"] else 0
            sums[5] += 1 / first if first else 0
            sums[6] += 1
            sums[7] += recall["reformulated"]
            sums[8] += recall["abandoned"]
            sums[9] += recall["grep"]
            sums[10] += recall["tokens"] or 0

    return cpu(loop, repeat=1)


def main() -> None:
    """Run both."""
    landing()
    measuring(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)


if __name__ == "__main__":
    main()
