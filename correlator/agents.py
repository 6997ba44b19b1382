"""The correlator's worker: a Faust agent that reads tool events, concludes, delivers, and only then commits.

Run one process a worker; any number share the partitions. What the agent does in order, and why nothing is lost:
decode by itself (bad bytes become dead letters), feed the pure core of the partition, deliver what it concludes and
wait for the broker's acknowledgement, then ack messages strictly in offset order up to the core's frontier. A
partition that moves, or a killed worker, is read again from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import faust
import msgspec

from correlator.partition import Bounds, Conclusions, PartitionCore
from streams import deadletter
from streams.app import worker_app
from streams.client import Connection
from streams.clock import Clock, SystemClock
from streams.codec import decode
from streams.deadletter import DeadLetter, DlqBudget, DlqLimit
from streams.emitter import KafkaEmitter
from streams.errors import TransientError
from streams.events import InvocationEnded, InvocationStarted, ToolCalled, ToolEvent
from streams.log import Emitter, Partition, Record
from streams.topics import RECALL_EVENTS, TOOL_EVENTS, TRAJECTORIES

log = logging.getLogger(__name__)

GROUP = "trodden-correlator"
"""Consumer group of the workers."""

MAX_BACKLOG = 20_000
"""Events that may wait for the next flush before reading pauses: bounds memory while the broker is away."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What a worker is told."""

    connection: Connection
    folder: Path
    """Takes what little Faust writes to disk."""
    group: str = GROUP
    bounds: Bounds = field(default_factory=Bounds)
    flush_interval_s: float = 0.03
    """Conclusions of so long are delivered together; most of the latency from event to `open` revision."""
    dlq_limit: DlqLimit = field(default_factory=DlqLimit)


def run_worker(options: WorkerOptions) -> None:
    """Work until SIGTERM or SIGINT; returns when everything in hand has been delivered and committed.

    Raises:
        DlqLimitExceeded: when the input itself must be wrong.
        ConfigError: when the broker refuses our credentials.
    """
    asyncio.run(work(options))


async def work(options: WorkerOptions, *, stop: asyncio.Event | None = None) -> None:
    """As `run_worker`, inside a running loop; `stop` ends it as a signal would."""
    stop = stop or _stop_on_signals()
    async with KafkaEmitter(options.connection) as emitter:
        correlator = Correlator(emitter, options)
        app = worker_app(options.group, options.connection, folder=options.folder)
        source = app.topic(TOOL_EVENTS.name, key_type=bytes, value_type=bytes)
        app.agent(source, name="correlate", concurrency=1)(_reader(app, correlator))
        flushing = asyncio.create_task(correlator.flush_for_ever())
        await app.start()
        stopping = asyncio.create_task(stop.wait())
        crashed = asyncio.create_task(app.wait_until_stopped())
        try:
            await asyncio.wait([flushing, stopping, crashed], return_when=asyncio.FIRST_COMPLETED)
            if stopping.done():
                await correlator.flush()
        finally:
            for task in (stopping, crashed):
                task.cancel()
            flushing.cancel()
            await app.stop()
    await asyncio.gather(flushing, return_exceptions=True)
    _raise_failure(flushing)


def _raise_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()):
        raise error


def _stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def _reader(app: faust.App, correlator: Correlator) -> Callable[[Any], Awaitable[None]]:
    async def correlate(stream: Any) -> None:
        async for event in stream.noack().events():
            message = event.message
            try:
                await correlator.take(message.generation_id, _record(message), Ack(app, event))
            except Exception as error:
                correlator.fail(error)
                await asyncio.Event().wait()  # to return would ack: Faust restarts an agent past its failed message

    return correlate


class Ack:
    """Marks one message as done, unless its partition has moved since: then it is read again."""

    __slots__ = ("_app", "_event", "offset")

    def __init__(self, app: faust.App, event: Any) -> None:
        self._app = app
        self._event = event
        self.offset: int = event.message.offset

    def __call__(self) -> None:
        """Ack."""
        if self._event.message.generation_id == self._app.consumer_generation_id:
            self._event.ack()


def _record(message: Any) -> Record:
    return Record(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        key=message.key,
        value=message.value,
        timestamp=_EPOCH + timedelta(seconds=message.timestamp),
    )


@dataclass(slots=True)
class _Part:
    """A partition that this worker owns."""

    core: PartitionCore
    taken_at: datetime
    unacked: deque[Acknowledge] = field(default_factory=deque)


class Acknowledge(Protocol):
    """Marks the record at `offset` as done."""

    offset: int

    def __call__(self) -> None:
        """Mark it."""
        ...


class Correlator:
    """Feeds records to the core of their partition, delivers what it concludes, acks in order. Knows no Faust."""

    def __init__(self, emitter: Emitter, options: WorkerOptions, clock: Clock | None = None) -> None:
        self._emitter = emitter
        self._options = options
        self._clock = clock or SystemClock()
        self._parts: dict[Partition, _Part] = {}
        self._generation: int | None = None
        self._budget = DlqBudget(options.dlq_limit)
        self._backlog = 0
        self._work = asyncio.Event()
        self._room = asyncio.Event()
        self._failure: Exception | None = None

    async def take(self, generation: int, record: Record, ack: Acknowledge) -> None:
        """Take one record in; `generation` rises whenever partitions moved, and then all state is dropped.

        Raises:
            DlqLimitExceeded: when too much of the input is unusable.
        """
        if generation != self._generation:
            self._parts.clear()
            self._generation = generation
        partition = Partition(record.topic, record.partition)
        part = self._parts.setdefault(partition, _Part(PartitionCore(self._options.bounds), self._clock.now()))
        events, letters = usable(record)
        await self._bury(record, letters)
        self._budget = self._budget.after(good=len(events), dead=len(letters))
        part.core.feed(record.offset, events, record.timestamp)
        part.taken_at = self._clock.now()
        part.unacked.append(ack)
        self._backlog += len(events)
        self._work.set()
        if self._backlog > MAX_BACKLOG:
            self._room.clear()
            await self._room.wait()

    async def flush(self) -> None:
        """Deliver what all partitions conclude at present, then ack up to their frontiers."""
        self._backlog = 0
        self._room.set()
        now = self._clock.now()
        for part in list(self._parts.values()):
            silent = now - part.taken_at >= self._options.bounds.idle
            conclusions = part.core.flush(idle_since=now if silent else None)
            await self._deliver(conclusions)
            part.core.delivered(conclusions)
            while part.unacked and part.unacked[0].offset < part.core.frontier:
                part.unacked.popleft()()

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
            await asyncio.sleep(max(self._options.flush_interval_s, loop.time() - started))

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
        recalls = [(recall.recall_id, _encode(recall)) for recall in conclusions.recalls]
        trajectories = [(t.trajectory_id, _encode(t)) for t in conclusions.trajectories]
        for topic, messages in ((RECALL_EVENTS.name, recalls), (TRAJECTORIES.name, trajectories)):
            if messages:
                await patiently(partial(self._emitter.emit_all, topic, messages))


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


async def patiently(send: Callable[[], Awaitable[object]]) -> None:
    """Send, and send again with growing pauses for as long as the broker is away."""
    pause_s = 0.1
    while True:
        try:
            await send()
        except TransientError as error:
            log.warning("trying again in %.1f s: %s", pause_s, error)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, 5.0)
        else:
            return
