"""A sink, a compactor and a reader as processes of their own, over a topic that is a function of the offset.

The topic needs no broker and survives every kill: record `n` holds search `n`, and the committed offset is a file.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from streams.log import Partition, Record
from streams.recall import Candidate, Consumption, DocRef, RecallEvent, ResultStatus
from streams.topics import RECALL_EVENTS
from warehouse.job import Compactor
from warehouse.sink import Sink
from warehouse.storage.store import LocalStorage
from warehouse.store import Warehouse

PARTITION = Partition(RECALL_EVENTS.name, 0)
OFFSET = "offset"
"""Below the data folder: the next offset to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """What the topic holds and how fast it comes."""

    batch: int = 50
    """Records of one poll; the sink lands each poll as one file a day."""
    start: float = 0.0
    """Unix time of the first batch; 0 when all of it is there already."""
    per_s: float = 20.0
    """Batches a second from `start` on."""
    end: int | None = None
    """Offset after the last record."""
    day: datetime
    """When record 0 occurred."""
    days: int = 1
    """Days that the searches go round in."""


def search(number: int, feed: Feed) -> bytes:
    """Return one search as its message value."""
    targets = [DocRef(path=f"docs/a{(number * 7 + rank) % 997}.md") for rank in range(1, 6)]
    at = feed.day + timedelta(days=number % feed.days, seconds=number % 3600)
    hit = Consumption(
        anchor="a",
        rank=1 + number % 5,
        target=targets[number % 5],
        tool_use_id=f"t{number}",
        method="Read",
        consumed_at=at,
        distance=1,
        elapsed_ms=9,
        rule="doc-path",
    )
    return msgspec.json.encode(
        RecallEvent(
            recall_id=str(number),
            revision=1,
            phase="final",
            occurred_at=at,
            agent_id="agent-a",
            runtime="claude-code",
            invocation_id=f"i{number // 3}",
            session_id="s1",
            root_session_id="s1",
            tool="search_evidence",
            tool_use_id=f"u{number}",
            surface="memory",
            query="how are priors of anchors published",
            result_status=ResultStatus.COUNTED,
            candidates=tuple(
                Candidate(anchor=target.path, rank=rank, target=target) for rank, target in enumerate(targets, 1)
            ),
            consumed=(hit,),
        )
    )


def committed(root: Path) -> int:
    """Return the next offset to read."""
    try:
        return int((root / OFFSET).read_text())
    except FileNotFoundError:
        return 0


class FeedConsumer:
    """A `Consumer` of a feed."""

    def __init__(self, root: Path, feed: Feed) -> None:
        self._root = root
        self._feed = feed
        self.next = committed(root)

    @property
    def assignment(self) -> frozenset[Partition]:
        """The one partition there is."""
        return frozenset({PARTITION})

    async def poll(self, *, max_records: int = 500, timeout_s: float = 1.0) -> list[Record]:
        """Return the next batch once it is due."""
        feed = self._feed
        stop = self.next + feed.batch if feed.end is None else min(self.next + feed.batch, feed.end)
        due = feed.start + self.next / feed.batch / feed.per_s if feed.start else time.time()
        wait = min(max(due - time.time(), 0.0), timeout_s)
        await asyncio.sleep(wait)
        if stop <= self.next or time.time() < due:
            return []
        at = datetime.fromtimestamp(due, UTC)
        records = [
            Record(topic=PARTITION.topic, partition=0, offset=n, key=None, value=search(n, feed), timestamp=at)
            for n in range(self.next, stop)
        ]
        self.next = stop
        return records

    async def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Write the offset beside, and rename."""
        temporary = self._root / f"{OFFSET}.{os.getpid()}"
        temporary.write_text(str(offsets[PARTITION]))
        temporary.replace(self._root / OFFSET)

    async def lag(self) -> Mapping[Partition, int]:
        """Return what is left of a feed with an end."""
        return {PARTITION: (self._feed.end or self.next) - self.next}

    async def close(self) -> None:
        """Do nothing."""


def stopping() -> asyncio.Event:
    """Return an event that SIGTERM sets."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    return stop


def sink(root: Path, feed: Feed) -> None:
    """Land the feed from its committed offset on, until its end or SIGTERM."""

    async def run() -> None:
        stop = stopping()
        consumer = FeedConsumer(root, feed)
        landing = asyncio.create_task(Sink(consumer, root, flush_rows=feed.batch).run(stop))
        while not landing.done():
            await asyncio.wait([landing], timeout=0.1)
            if feed.end is not None and consumer.next >= feed.end:
                stop.set()
        landing.result()

    asyncio.run(run())


def compactor(root: Path, grace: timedelta, pause_s: float) -> None:
    """Compact again and again, until SIGTERM."""

    async def run() -> None:
        stop = stopping()
        job = Compactor(LocalStorage(root / "tables"), root)
        while not stop.is_set():
            await asyncio.to_thread(job.run, datetime.now(UTC), grace=grace)
            await asyncio.sleep(pause_s)

    asyncio.run(run())


@dataclass(slots=True)
class Seen:
    """What a reader saw."""

    queries: int = 0
    duplicates: int = 0
    vanished: int = 0
    """Queries that saw fewer rows than one before."""
    errors: list[str] = field(default_factory=list)
    staleness_s: list[float] = field(default_factory=list)


QUESTION = """
SELECT count(*) AS n, count(DISTINCT recall_id) AS ids, epoch(max(_logged_at)) AS newest
FROM recall_events
"""


def look(warehouse: Warehouse, seen: Seen, before: int) -> int:
    """Ask once, note what is wrong with the answer, and return how many rows there were."""
    seen.queries += 1
    try:
        [row] = warehouse.sql(QUESTION)
    except duckdb.Error as error:
        seen.errors.append(str(error))
        return before
    seen.duplicates += row["n"] - row["ids"]
    seen.vanished += row["n"] < before
    if row["newest"] is not None:
        seen.staleness_s.append(time.time() - row["newest"])
    return max(before, int(row["n"]))


def reader(root: Path, until: float, pause_s: float, out: Any) -> None:
    """Ask every `pause_s` until a Unix time, and send what was seen."""
    seen, warehouse, rows = Seen(), Warehouse(root), 0
    while time.time() < until:
        rows = look(warehouse, seen, rows)
        time.sleep(pause_s)
    out.send(seen)
