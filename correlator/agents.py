"""The correlator's worker process: a Faust agent around the loop of correlator/consumer.py.

Any number of processes share the partitions. Faust brings messages, group membership and commits; everything else is
ours: raw bytes, acks by hand and in offset order, and an error that ends the process before anything more is acked.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import signal
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import faust
import msgspec

from correlator.consumer import Correlator, WorkerOptions
from correlator.documents import NO_DOCUMENTS, Documents
from correlator.verifier import verifier
from correlator.watchdog import Watch
from streams.app import acknowledge, worker_app
from streams.client import positions
from streams.emitter import KafkaEmitter
from streams.errors import BrokerUnavailable, GroupStalled
from streams.events import DocumentIndexed
from streams.log import Partition, Record
from streams.server import Telemetry
from streams.store import KafkaJournal, KafkaTable
from streams.topics import DOCUMENTS, PROGRESS, TOOL_EVENTS

STOP_SECONDS = 6.0
"""How long a stopping worker tries to deliver what it holds; undelivered work is done again by the next owner."""

WATCH_SECONDS = 10.0
"""Between two looks at the group's offsets; two looks in a row that find it standing end the worker."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def run_worker(options: WorkerOptions) -> None:
    """Work until SIGTERM or SIGINT; returns when everything in hand has been delivered and committed.

    Raises:
        DlqLimitExceeded: when the input itself must be wrong.
        ConfigError: when the broker refuses our credentials.
    """
    asyncio.run(work(options))


async def work(
    options: WorkerOptions, *, stop: asyncio.Event | None = None, telemetry: Telemetry | None = None
) -> None:
    """As `run_worker`, inside a running loop; `stop` ends it as a signal would."""
    stop = stop or _stop_on_signals()
    _spare_collections()
    async with (
        KafkaEmitter(options.connection, client_id=options.group) as emitter,
        KafkaJournal(options.connection, PROGRESS.name) as journal,
        KafkaTable(options.connection, DOCUMENTS.name) as table,
        verifier(options, emitter) as judge,
    ):
        correlator = Correlator(emitter, journal, options, documents=Indexed(table), telemetry=telemetry)
        app = worker_app(options.group, options.connection, folder=options.folder)
        source = app.topic(TOOL_EVENTS.name, key_type=bytes, value_type=bytes)
        app.agent(source, name="correlate", concurrency=1)(_reader(app, correlator))
        await app.start()
        tasks = [
            asyncio.create_task(correlator.flush_for_ever()),
            asyncio.create_task(app.wait_until_stopped()),
            asyncio.create_task(stop.wait()),
            asyncio.create_task(_watch(app, correlator, options)),
            asyncio.create_task(judge.run()),
        ]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(correlator.flush(), STOP_SECONDS)
        finally:
            for task in tasks:
                task.cancel()
            await app.stop()
    for task in done:
        task.result()
    if not stop.is_set():
        raise BrokerUnavailable(f"expected Faust to run on, got a stop: {app._crash_reason!r}")


def _spare_collections() -> None:
    """Let the cycle collector look seldom, and never at what the imports made.

    A worker holds many thousand events, which are in no cycle. With the defaults half of its time went into walking
    them again and again.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


async def _watch(app: faust.App, correlator: Correlator, options: WorkerOptions) -> None:
    """End this life of the worker when the broker says that the group stands still although there is work.

    Seen: after a broker's restart every member was given no partition, and nothing woke the group again.

    Raises:
        GroupStalled: for the supervisor, which starts the worker anew.
    """
    watch = Watch(options.limits.held_messages)
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        try:
            now = await positions(options.connection, options.group, [TOOL_EVENTS.name])
        except BrokerUnavailable:
            watch = Watch(options.limits.held_messages)
            continue
        watch = watch.look(now, correlator.reached)
        owned = frozenset(Partition(tp.topic, tp.partition) for tp in app.consumer.assignment())
        if stalled := watch.stalled(owned):
            raise GroupStalled(f"expected {stalled} to advance, got the same offsets {watch.patience} times")


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


class Indexed:
    """The indexed documents as far as the topic tells them; built anew after changes, at most once a second."""

    def __init__(self, table: KafkaTable) -> None:
        self._table = table
        self._version = 0
        self._built_at = -math.inf
        self._documents = NO_DOCUMENTS

    def __call__(self) -> Documents:
        """Return them."""
        now = asyncio.get_running_loop().time()
        if self._table.version != self._version and now - self._built_at >= 1.0:
            self._version, self._built_at = self._table.version, now
            self._documents = Documents(_readable(self._table.values.values()))
        return self._documents


def _readable(values: Iterable[bytes]) -> Iterator[DocumentIndexed]:
    for value in values:
        with contextlib.suppress(msgspec.DecodeError):  # the sink has made a dead letter of it
            yield msgspec.json.decode(value, type=DocumentIndexed)


class Ack:
    """Marks one message as done."""

    __slots__ = ("_app", "_message", "offset")

    def __init__(self, app: faust.App, event: Any) -> None:
        self._app = app
        self._message = event.message
        self.offset: int = event.message.offset
        event.message.value = event.value = None  # it may be held for long, and the bytes are not needed again

    def __call__(self) -> None:
        """Mark it."""
        acknowledge(self._app, self._message)


def _record(message: Any) -> Record:
    return Record(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        key=message.key,
        value=message.value,
        timestamp=_EPOCH + timedelta(seconds=message.timestamp),
    )
