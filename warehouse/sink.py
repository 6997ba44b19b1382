"""Topics to Parquet: records are landed in whole files, and only then is their offset committed.

Killed anywhere, it starts again at the committed offset and lands the same records again: the same cut gives the same
file, another cut gives rows that the views know by their identity. So nothing is lost and nothing is counted twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from streams import deadletter
from streams.codec import BadLine
from streams.errors import PartitionLost, TransientError
from streams.log import Consumer, Emitter, Partition, Record
from streams.topics import TOPICS
from warehouse import partition as names
from warehouse import publisher, rows
from warehouse.rows import Rejected, Row
from warehouse.schema import TABLES, Table
from warehouse.storage.store import LocalStorage

SINK_TOPICS: tuple[str, ...] = tuple(name for topic in TOPICS for name in (topic.name, topic.dead))
"""What the sink subscribes to: every topic and its dead letters."""

GROUP = "trodden-sink"

_log = logging.getLogger(__name__)
_tables: dict[str, Table] = {table.name: table for table in TABLES}


@dataclass(slots=True)
class Landed:
    """What a sink has done since it started."""

    rows: int = 0
    files: int = 0
    rejected: int = 0
    flushes: int = 0


class Sink:
    """Lands what a consumer reads below `root/tables` and keeps `root/catalog.duckdb` up to date.

    Args:
        root: The data folder.
        emitter: Where dead letters go; without one a rejected line is only logged.
        flush_rows: Rows held at most before they are landed.
        flush_s: Seconds that a row is held at most.
        idle_s: Land earlier when nothing came for so many seconds; as long as `flush_s` by default.
        retry_s: Pause after a store or broker refused.
    """

    def __init__(
        self,
        consumer: Consumer,
        root: str | Path,
        *,
        emitter: Emitter | None = None,
        flush_rows: int = 5000,
        flush_s: float = 5.0,
        idle_s: float | None = None,
        retry_s: float = 1.0,
    ) -> None:
        self._consumer = consumer
        self._emitter = emitter
        self._flush_rows = flush_rows
        self._flush_s = flush_s
        self._idle_s = flush_s if idle_s is None else idle_s
        self._retry_s = retry_s
        self.storage = LocalStorage(Path(root) / publisher.TABLES_FOLDER)
        self.catalog = Path(root).absolute() / publisher.CATALOG
        self.landed = Landed()
        self._held: dict[Partition, list[Record]] = {}
        self._rows_held = 0
        self._oldest: float | None = None
        self._newest = 0.0
        self._published_at = -1e9
        self._publish_cost = 0.0
        self._publishing: asyncio.Task[None] | None = None
        self._unpublished = False

    async def run(self, stop: asyncio.Event) -> None:
        """Land until told to stop; then land what is held, publish, and return."""
        await asyncio.to_thread(self.prepare)
        while not stop.is_set():
            await self.step()
        await self.flush()
        if self._publishing is not None:
            await self._publishing
        await self._publish()

    def prepare(self) -> None:
        """Sweep what killed writers left, seed the tables, publish a first catalog. Safe to call again."""
        self.storage.sweep()
        publisher.seed(self.storage)
        publisher.publish(self.storage, self.catalog)

    async def step(self) -> None:
        """Poll once; land when enough is held or it was held long enough."""
        now = asyncio.get_running_loop().time
        patience = min(self._flush_s / 2, self._idle_s / 2, 0.25)
        records = await self._consumer.poll(max_records=2000, timeout_s=patience)
        for record in records:
            self._held.setdefault(Partition(record.topic, record.partition), []).append(record)
            self._rows_held += (record.value or b"").count(b"\n") + 1
        if records:
            self._newest = now()
            self._oldest = self._newest if self._oldest is None else self._oldest
        if self._due(now()):
            await self.flush()
        if self._publishing is not None and self._publishing.done():
            self._publishing = self._publishing.result()
        # A catalog over many files takes a while to write: landing goes on meanwhile, and at most a fifth of a
        # processor is spent on it.
        due = self._unpublished and now() - self._published_at >= 5 * self._publish_cost
        if due and self._publishing is None:
            self._publishing = asyncio.create_task(self._publish())

    def _due(self, now: float) -> bool:
        if self._oldest is None:
            return False
        waited = now - self._oldest >= self._flush_s or now - self._newest >= self._idle_s
        return waited or self._rows_held >= self._flush_rows

    async def flush(self) -> None:
        """Land what is held and commit its offsets. A store or broker that refuses leaves all of it held.

        Raises:
            TransientError: when the dead letters or the commit did not go through; the records come again.
        """
        if not self._held:
            return
        try:
            records = [record for _, held in sorted(self._held.items()) for record in held]
            rejected = await asyncio.to_thread(self.land, records)
            await self._bury(rejected)
            offsets = {partition: held[-1].offset + 1 for partition, held in self._held.items()}
            await self._consumer.commit(offsets)
        except PartitionLost:
            _log.info("partitions moved to another sink; what it lands again is known by its identity")
        except TransientError as error:
            _log.warning("landing postponed: %s", error)
            await asyncio.sleep(self._retry_s)
            return
        self.landed.flushes += 1
        self._held, self._rows_held, self._oldest = {}, 0, None
        self._unpublished = True

    def forget(self, partitions: Iterable[Partition]) -> None:
        """Drop what is held of partitions that another member takes over."""
        for partition in partitions:
            self._held.pop(partition, None)

    def land(self, records: Iterable[Record]) -> list[Rejected]:
        """Write records to files, one a table and day, and return what is no row. Commits nothing."""
        with _without_collector():  # until every decoded value is gone again
            return self._land(records)

    def _land(self, records: Iterable[Record]) -> list[Rejected]:
        with ThreadPoolExecutor() as pool:
            sorted_ = rows.sort(records)
            rejected = sorted_.rejected
            cuts: list[_Cut] = []
            for name, found in sorted_.rows.items():
                for day, same_day in _by_day(found).items():
                    arrow, misfits = rows.to_arrow(_tables[name], same_day)
                    rejected += misfits
                    cuts += [_Cut(name, day, arrow)] if arrow.num_rows else []
            files = dict(pool.map(_file, cuts))  # writing Parquet holds no interpreter lock
        self.storage.put_all(files)
        self.landed.files += len(files)
        self.landed.rows += sum(cut.arrow.num_rows for cut in cuts)
        return rejected

    async def _bury(self, rejected: Sequence[Rejected]) -> None:
        """Send what is no row to the dead-letter topic of where it came from, as it came."""
        for bad in rejected:
            self.landed.rejected += 1
            _log.warning(
                "%s-%d@%d line %d: %s", bad.record.topic, bad.record.partition, bad.record.offset, bad.line, bad.reason
            )
            if self._emitter is not None and not bad.record.topic.endswith(".dead"):
                letter = deadletter.of_line(bad.record, BadLine(bad.raw, bad.stage, bad.reason, bad.line))
                key = (bad.record.key or b"").decode(errors="replace")
                await self._emitter.emit(f"{bad.record.topic}.dead", key=key, value=deadletter.encode(letter))

    async def _publish(self) -> None:
        self._unpublished = False  # what lands from here on may not be in the list that is about to be made
        self._publish_cost = await asyncio.to_thread(_publish, self.storage, self.catalog)
        self._published_at = asyncio.get_running_loop().time()


def _publish(storage: LocalStorage, catalog: Path) -> float:
    """Publish the catalog and return the processor seconds it took: on a busy machine it waits longer than it works."""
    started = time.thread_time()
    publisher.publish(storage, catalog)
    return time.thread_time() - started


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Pause the cycle collector.

    A batch of decoded values holds no cycles, and walking it again and again while it grows takes four times as long
    as decoding it (measured: 38 against 9 us a search).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Cut(NamedTuple):
    """Rows of one day of one table that land together."""

    table: str
    day: date
    arrow: pa.Table


def _file(cut: _Cut) -> tuple[str, bytes]:
    """Return the path and the bytes of a file."""
    data = publisher.parquet(cut.arrow)
    return names.landed(cut.table, cut.day, data), data


def _by_day(found: Iterable[Row]) -> dict[date, list[Row]]:
    days: dict[date, list[Row]] = {}
    for row in found:
        days.setdefault(row.day, []).append(row)
    return days
