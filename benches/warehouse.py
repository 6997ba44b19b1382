"""What landing and measuring cost: rows landed per CPU second, and measures against a row loop and the best SQL shape.

Run with a number of searches (default 1,000,000): `python -m benches.warehouse 10000000`. Ratios are of CPU time in one
process on one machine; a loaded machine moves the absolute figures, hardly the ratios. Exits 1 when a bar is missed.
"""

from __future__ import annotations

import math
import random
import sqlite3
import subprocess
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
from warehouse import measures, partition, publisher
from warehouse.job import Compactor
from warehouse.sink import Sink
from warehouse.storage.store import LocalStorage
from warehouse.store import PARTS, Warehouse

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


class Bars:
    """What was measured beside what was promised."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def check(self, what: str, measured: float, *, least: float = 0.0, most: float = float("inf")) -> None:
        """Print one figure with its bar, and remember it when it is missed."""
        bar = f">= {least:,.0f}" if least else f"<= {most:,.2f}"
        kept = least <= measured <= most
        print(f"  {'ok    ' if kept else 'MISSED'} {what}: {measured:,.2f} (bar {bar})")
        if not kept:
            self.missed.append(what)


def landing(bars: Bars, rows: int = 20_000) -> None:
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
        f"landing: {spent / rows * 1e6:.1f} us CPU a search of {size:,.0f} bytes, from the log's bytes to files on disk"
    )
    bars.check("rows landed per CPU second", rows / spent, least=30_000)


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


def measuring(bars: Bars, searches: int) -> None:
    """Print the CPU of the measure family as it is served, by the best hand-written shape, and by a row loop."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        fill(root, searches)
        warehouse = Warehouse(root)
        served = cpu(lambda: warehouse.measures(AS_OF, DAYS + 1, names=FAMILY, slice_by="day"))
        ours = cpu(lambda: family_sql(warehouse))
        best = cpu(lambda: warehouse.sql(BEST_SHAPE))
        looped = min(searches, 1_000_000)
        spent, figures = row_loop(warehouse, looped)
        loop = spent * searches / looped
        unequal = differing(warehouse, figures)
        anchors = cpu(lambda: warehouse.sql(ANCHORS), repeat=1)
        size = sum(storage.bytes for storage in warehouse.disk_usage())
        peak = peak_mib(root)
    print(
        f"measuring {searches:,} searches x 10 candidates ({AGENTS} agents, {DAYS} days, {size / 1e6:.0f} MB on disk):"
    )
    print(f"  family as served, by day, with intervals {served * 1e3:8.0f} ms CPU")
    print(f"  its SQL alone                            {ours * 1e3:8.0f} ms CPU")
    print(f"  best SQL shape by hand                   {best * 1e3:8.0f} ms CPU")
    print(f"  row loop, SQLite rows of JSON            {loop * 1e3:8.0f} ms CPU")
    print(f"  30-day counts of every anchor            {anchors * 1e3:8.0f} ms CPU")
    bars.check(f"figures that differ from the loop's, of {len(figures):,}", unequal, most=0)
    bars.check("row loop / family as served", loop / served, least=10)
    bars.check("SQL of the family / best shape", ours / best, most=1.3)
    bars.check("peak MiB of a process that takes the family", peak, most=1536)


def family_sql(warehouse: Warehouse) -> None:
    """Run the queries of the family as they are served, without what Python makes of their rows."""
    chosen = [measure for measure in warehouse.registry if measure.name in FAMILY]
    relations = publisher.load_queries("relations")
    parameters = dict.fromkeys(measures.PARAMETERS) | {
        "asof": AS_OF, "days": DAYS + 1, "surface": "memory", "base": "known", "credit": "all", "slice_by": "day",
        "parts": PARTS,
    }  # fmt: skip
    with warehouse.connect() as connection:
        for relation, group in measures.by_relation(chosen).items():
            query = measures.combined(relation, group, relations)
            connection.execute(query, measures.used(query, parameters)).fetchall()


def peak_mib(root: Path) -> float:
    """Return the peak memory of a process of its own that takes the measure family."""
    program = (
        "from benches.warehouse import AS_OF, DAYS, FAMILY; from warehouse.store import Warehouse; "
        f"Warehouse({str(root)!r}).measures(AS_OF, DAYS + 1, names=FAMILY); "
        # not ru_maxrss, which a child takes over from the process that started it
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    return int(told) / 1024


ANCHORS = (
    "SELECT anchor, sum(exposures), sum(consumptions), max(last_consumed_at) FROM anchor_daily "
    "WHERE dt >= DATE '2026-10-01' GROUP BY anchor"
)


COMPARED = (*FAMILY[:6], *FAMILY[7:])
"""What the row loop computes as well: all but the median."""


def row_loop(warehouse: Warehouse, rows: int) -> tuple[float, dict[tuple[str, str], float]]:
    """Return the CPU seconds of the family as a Python loop over SQLite rows that hold JSON, and its figures by day."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE recalls (at TEXT, row TEXT)")
    with warehouse.connect() as connection:
        cursor = connection.execute(
            "SELECT dt::VARCHAR, to_json({'candidates': candidates, 'consumed': consumed, "
            "'reformulated': reformulated, 'abandoned': abandoned, 'grep': fell_back_to_grep, "
            "'tokens': tokens_result + tokens_query})::VARCHAR "
            f"FROM recall_events ORDER BY dt LIMIT {rows}"
        )
        while found := cursor.fetchmany(10_000):
            database.executemany("INSERT INTO recalls VALUES (?, ?)", found)
    groups: dict[str, list[float]] = {}
    started = time.process_time()
    for day, text in database.execute("SELECT at, row FROM recalls"):
        recall = msgspec.json.decode(text)
        ranks = [c["rank"] for c in recall["consumed"] if c["rank"] is not None]
        first = min(ranks, default=0)
        sums = groups.setdefault(day, [0.0] * 12)
        for index, k in enumerate((1, 3, 5, 10)):
            sums[index] += bool(first) and first <= k
        sums[4] += len({rank for rank in ranks if rank <= 5}) / 5 if recall["candidates"] else 0
        sums[5] += 1 / first if first else 0
        sums[6] += recall["reformulated"]
        sums[7] += recall["abandoned"]
        sums[8] += recall["grep"]
        sums[9] += recall["tokens"] or 0
        sums[10] += 1
        sums[11] += len(recall["consumed"])
    spent = time.process_time() - started
    figures = {
        (name, day): sums[index] / sums[11 if name == "token_cost_per_hit" else 10]
        for day, sums in groups.items()
        for index, name in enumerate(COMPARED)
    }
    return spent, figures


def differing(warehouse: Warehouse, figures: dict[tuple[str, str], float]) -> int:
    """Return how many figures of the loop are not those of the measures; its last day may be cut and is left out."""
    served = {(v.name, v.slice): v.value for v in warehouse.measures(AS_OF, DAYS + 1, names=COMPARED, slice_by="day")}
    cut = max(day for _, day in figures)
    return sum(
        not math.isclose(value, served.get((name, day)) or 0.0, rel_tol=1e-9)
        for (name, day), value in figures.items()
        if day != cut
    )


def main() -> None:
    """Run both."""
    bars = Bars()
    landing(bars)
    measuring(bars, int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
    sys.exit(1 if bars.missed else 0)


if __name__ == "__main__":
    main()
