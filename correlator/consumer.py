"""The correlator's loop: feed records to the core of their partition, deliver what it concludes, ack in offset order.

What happens in order, and why nothing is lost: decode by ourselves (bad bytes become dead letters), feed the pure
core, deliver its conclusions and wait for the broker's acknowledgement, then write the markers, then ack up to the
core's frontier. A partition that moves, or a killed worker, is read again from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from correlator.documents import NO_DOCUMENTS, Documents
from correlator.partition import Conclusions, Limits, Marker, PartitionCore
from correlator.window import DEFAULT_POLICY, CorrelatorPolicy
from streams import deadletter, metrics
from streams.client import Connection
from streams.clock import Clock, SystemClock
from streams.codec import decode
from streams.deadletter import DeadLetter, DlqBudget, DlqLimit
from streams.errors import RecordSkipped, TransientError
from streams.events import InvocationEnded, InvocationStarted, ToolCalled, ToolEvent
from streams.log import Emitter, Journal, Partition, Record
from streams.server import Telemetry
from streams.topics import MAX_MESSAGE_BYTES, RECALL_EVENTS, TOOL_EVENTS, TRAJECTORIES, Topic

log = logging.getLogger(__name__)

GROUP = "trodden-correlator"
"""Consumer group of the workers."""

T = TypeVar("T")

HISTORY_CHUNK = 200
"""Records that are read again at a time: bounds memory."""

QUIET = timedelta(seconds=1)
"""A partition that brought nothing for so long is committed to its end, open invocations by their markers."""

LEAST_PAUSE = 0.01
"""Seconds between the end of a flush and the next one: what comes meanwhile is concluded together."""

MAX_BACKLOG = 20_000
"""Events that may wait for the next flush before reading pauses: bounds memory while the broker is away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What a worker is told."""

    connection: Connection
    folder: Path
    """Takes what little Faust writes to disk."""
    group: str = GROUP
    policy: CorrelatorPolicy = DEFAULT_POLICY
    limits: Limits = field(default_factory=Limits)
    flush_interval_s: float = 0.02
    """Conclusions of so long are delivered together; most of the latency from event to `open` revision."""
    dlq_limit: DlqLimit = field(default_factory=DlqLimit)


@dataclass(slots=True)
class _Part:
    """A partition that this worker owns."""

    core: PartitionCore
    taken_at: datetime
    next_offset: int | None = None
    """Null until the first record came."""
    unacked: deque[Acknowledge] = field(default_factory=deque)
    newest_age_s: float | None = None
    """How old the newest record was when it was taken in; null once that is told."""


class Acknowledge(Protocol):
    """Marks the record at `offset` as done."""

    offset: int

    def __call__(self) -> None:
        """Mark it."""
        ...


class Correlator:
    """Feeds records to the core of their partition, delivers what it concludes, acks in order. Knows no Faust."""

    def __init__(
        self,
        emitter: Emitter,
        journal: Journal,
        options: WorkerOptions,
        clock: Clock | None = None,
        documents: Callable[[], Documents] = lambda: NO_DOCUMENTS,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._telemetry = telemetry or Telemetry()
        self._emitter = emitter
        self._documents = documents
        self._journal = journal
        self._options = options
        self._clock = clock or SystemClock()
        self._parts: dict[Partition, _Part] = {}
        self._generation: int | None = None
        self._budget = DlqBudget(options.dlq_limit)
        self._used: Counter[str] = Counter()
        """Events read since the last flush, by adapter."""
        self._backlog = 0
        self._work = asyncio.Event()
        self._room = asyncio.Event()
        self._failure: Exception | None = None
        self._flushing = asyncio.Lock()

    @property
    def reached(self) -> dict[Partition, int]:
        """The next offset of each partition that is read."""
        parts = self._parts.items()
        return {partition: part.next_offset for partition, part in parts if part.next_offset is not None}

    async def take(self, generation: int, record: Record, ack: Acknowledge) -> None:
        """Take one record in; `generation` rises whenever partitions moved, and then all state is dropped.

        Raises:
            DlqLimitExceeded: when too much of the input is unusable.
        """
        if generation != self._generation:
            self._parts.clear()
            self._generation = generation
            for gauge in (metrics.LAG, metrics.WATERMARK_AGE, metrics.OPEN_INVOCATIONS, metrics.HELD_MESSAGES):
                self._telemetry.metrics.forget(gauge)
        partition = Partition(record.topic, record.partition)
        part = self._parts.get(partition) or await self._adopt(partition)
        await self._check_gap(partition, part, record.offset)
        events, letters = usable(record)
        await self._bury(record, letters)
        self._count(events, letters)
        self._budget = self._budget.after(good=len(events), dead=len(letters))
        if missing := part.core.missing(record.offset, events):
            await self._restore(partition, part.core, missing)
        part.core.feed(record.offset, events, record.timestamp)
        part.taken_at, part.next_offset = self._clock.now(), record.offset + 1
        part.newest_age_s = (part.taken_at - record.timestamp).total_seconds()
        part.unacked.append(ack)
        self._backlog += len(events)
        self._work.set()
        if self._backlog > MAX_BACKLOG:
            self._room.clear()
            await self._room.wait()

    async def _check_gap(self, partition: Partition, part: _Part, offset: int) -> None:
        """Offsets without a record are the log's affair; a record that nobody showed us is a fault.

        Raises:
            RecordSkipped: to end this life of the worker; the next one reads from the committed offset.
        """
        if part.next_offset is None or part.next_offset == offset:
            return
        read = partial(self._journal.history, partition, part.next_offset, offset - 1)
        if part.next_offset > offset or len(await patiently(read)) > 0:
            raise RecordSkipped(f"{partition}: expected offset {part.next_offset}, got {offset}")

    async def flush(self) -> None:
        """Deliver what all partitions conclude at present, then ack up to their frontiers."""
        async with self._flushing:
            await self._flush()

    async def _flush(self) -> None:
        self._backlog = 0
        self._room.set()
        self._measure()
        now, documents = self._clock.now(), self._documents()
        await asyncio.gather(*[self._flush_part(*each, now, documents) for each in self._parts.items()])

    async def _flush_part(self, partition: Partition, part: _Part, now: datetime, documents: Documents) -> None:
        still = now - part.taken_at
        silent_until = now if still >= self._options.policy.idle_timeout else None
        if overslept := part.core.overslept(silent_until=silent_until):
            await self._restore(partition, part.core, overslept)
            self._work.set()  # there may be more
        conclusions = part.core.flush(silent_until=silent_until, quiet=still >= QUIET, documents=documents)
        await self._deliver(conclusions)
        if self._parts.get(partition) is not part:
            return  # it moved meanwhile: its new owner writes the markers
        if conclusions.markers:
            entries = {key: _encode(marker) for key, marker in conclusions.markers.items()}
            await patiently(partial(self._journal.put, partition.number, entries))
        part.core.delivered(conclusions)
        frontier = part.core.frontier
        while part.unacked and part.unacked[0].offset < frontier:
            part.unacked.popleft()()
        self._measure_part(conclusions, partition, part, now)

    def _count(self, events: Sequence[ToolEvent], letters: Sequence[DeadLetter]) -> None:
        self._used.update([event.source.adapter for event in events])
        for letter in letters:
            self._telemetry.metrics.count(metrics.EVENTS, adapter=letter.adapter or "unknown", outcome="dead")
            self._telemetry.metrics.count(metrics.DEAD_LETTERS, stage=letter.stage)

    def _measure(self) -> None:
        """Tell what was read since the last flush: once a message would cost as much as the message."""
        for adapter, number in self._used.items():
            self._telemetry.metrics.count(metrics.EVENTS, number, adapter=adapter, outcome="used")
        self._used.clear()
        for partition, part in self._parts.items():
            if part.newest_age_s is not None:
                self._telemetry.lags("correlate", partition, part.newest_age_s)
                part.newest_age_s = None

    def _measure_part(self, conclusions: Conclusions, partition: Partition, part: _Part, now: datetime) -> None:
        told = self._telemetry.metrics
        for kind, of_kind in (("recall", conclusions.recalls), ("trajectory", conclusions.trajectories)):
            for phase, number in Counter(each.phase for each in of_kind).items():
                told.count(metrics.REVISIONS, number, kind=kind, phase=phase)
        name = f"{partition.topic}/{partition.number}"
        told.set(metrics.OPEN_INVOCATIONS, part.core.open_invocations, partition=name)
        told.set(metrics.HELD_MESSAGES, len(part.unacked), partition=name)
        told.set(metrics.WATERMARK_AGE, (now - part.core.watermark).total_seconds(), partition=name)

    async def flush_for_ever(self) -> None:
        """Flush whenever there is something new, and once a second; ends only by an error or by being cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._work.wait(), timeout=1.0)
            self._work.clear()
            if self._failure is not None:
                raise self._failure
            started = loop.time()
            await self.flush()
            self._telemetry.health.progressed()
            self._telemetry.metrics.observe(metrics.FLUSH_SECONDS, loop.time() - started)
            await asyncio.sleep(max(self._options.flush_interval_s - (loop.time() - started), LEAST_PAUSE))

    def fail(self, error: Exception) -> None:
        """Make `flush_for_ever` raise this error."""
        self._failure = error
        self._work.set()

    async def _bury(self, record: Record, letters: Sequence[DeadLetter]) -> None:
        key = (record.key or b"").decode(errors="replace")
        for letter in letters:
            log.warning("dead letter %s/%s@%s: %s", letter.topic, letter.partition, letter.offset, letter.reason)
            value = deadletter.encode(letter)
            await patiently(partial(self._emitter.emit, TOOL_EVENTS.dead, key=key, value=value))

    async def _deliver(self, conclusions: Conclusions) -> None:
        await asyncio.gather(
            self._send(RECALL_EVENTS, [(recall.recall_id, _encode(recall)) for recall in conclusions.recalls]),
            self._send(TRAJECTORIES, [(each.trajectory_id, _encode(each)) for each in conclusions.trajectories]),
        )
        for failure in conclusions.failures:
            log.error("invocation %s cannot be concluded: %s", failure.invocation_id, failure.reason)
            letter = DeadLetter(
                stage="correlate",
                reason=failure.reason,
                topic=TOOL_EVENTS.name,
                offset=failure.first,
                raw=failure.invocation_id.encode(),
            )
            value = deadletter.encode(letter)
            await patiently(partial(self._emitter.emit, TOOL_EVENTS.dead, key=failure.invocation_id, value=value))

    async def _send(self, topic: Topic, messages: list[tuple[str, bytes]]) -> None:
        fitting = [(key, value) for key, value in messages if len(value) <= MAX_MESSAGE_BYTES]
        if fitting:
            await patiently(partial(self._emitter.emit_all, topic.name, fitting))
        for key, value in messages:
            if len(value) > MAX_MESSAGE_BYTES:
                reason = f"expected at most {MAX_MESSAGE_BYTES} bytes, got {len(value)}"
                log.error("%s on %s: %s", key, topic.name, reason)
                letter = DeadLetter(stage="correlate", reason=reason, topic=topic.name, raw=b"")
                await patiently(partial(self._emitter.emit, topic.dead, key=key, value=deadletter.encode(letter)))

    async def _adopt(self, partition: Partition) -> _Part:
        """Take a partition over: with the markers of its earlier owners, and what they left open lately."""
        entries = await patiently(partial(self._journal.entries, partition.number))
        markers = {key: msgspec.json.decode(value, type=Marker) for key, value in entries.items()}
        core = PartitionCore(self._options.policy, self._options.limits, markers)
        if left_open := core.left_open():
            await self._restore(partition, core, left_open)
        part = self._parts[partition] = _Part(core, self._clock.now())
        return part

    async def _restore(self, partition: Partition, core: PartitionCore, markers: Mapping[str, Marker]) -> None:
        """Read the events of these invocations again, in one pass over the records that hold them."""
        log.info("reading %d invocations of %s/%d again", len(markers), partition.topic, partition.number)
        events: dict[str, list[ToolEvent]] = {key: [] for key in markers}
        first, last = min(m.first for m in markers.values()), max(m.last for m in markers.values())
        for start in range(first, last + 1, HISTORY_CHUNK):
            read = partial(self._journal.history, partition, start, min(start + HISTORY_CHUNK - 1, last))
            for record in await patiently(read):
                for event in usable(record)[0]:
                    marker = markers.get(event.invocation_id)
                    if marker is not None and record.offset <= marker.last:
                        events[event.invocation_id].append(event)
        for key, marker in markers.items():
            core.restore(key, marker, events[key])


_encode = msgspec.json.Encoder().encode


def usable(record: Record) -> tuple[list[ToolEvent], list[DeadLetter]]:
    """Return the tool events of a record, and a dead letter for each line that is none."""
    decoded, bad = decode(record.value or b"")
    events = [event for event in decoded if isinstance(event, ToolCalled | InvocationStarted | InvocationEnded)]
    letters = [deadletter.of_line(record, line) for line in bad]
    if len(events) < len(decoded):
        strays = sorted({type(event).__name__ for event in decoded} - _TOOL_EVENTS)
        letters.append(deadletter.of_record(record, "schema", f"expected tool events on {record.topic}, got {strays}"))
    return events, letters


_TOOL_EVENTS = {"ToolCalled", "InvocationStarted", "InvocationEnded"}


async def patiently(send: Callable[[], Awaitable[T]]) -> T:
    """Return what `send` returns, and try again with growing pauses for as long as the broker is away."""
    pause_s = 0.1
    while True:
        try:
            return await send()
        except TransientError as error:
            log.warning("trying again in %.1f s: %s", pause_s, error)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, 5.0)
