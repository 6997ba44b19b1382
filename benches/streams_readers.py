"""One reader of the tool events in a process of its own, which tells what it has spent, for benches/streams.py.

Each sample is a line `<monotonic seconds> <processor seconds> <events>` on standard output. The kinds add one stage
each: `fetch` takes bytes with aiokafka, `decode` decodes them with msgspec, `faust` does so in a Faust agent with our
acks, `core` concludes what `decode` has read and throws the conclusions away, `worker` is the correlator as it runs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer

from benches.roles import quiet
from correlator.agents import work
from correlator.consumer import GROUP, Correlator, WorkerOptions
from streams.app import acknowledge, worker_app
from streams.client import Connection, partitions_of
from streams.codec import decode
from streams.consumer import record_of
from streams.log import Partition, Record
from streams.metrics import EVENTS, Metric, Metrics
from streams.server import Telemetry
from streams.topics import TOOL_EVENTS

SAMPLE_SECONDS = 0.05

SESSION_SECONDS = 60.0
"""A reader is stopped by a signal while its topic is filled, and has to be a member of its group afterwards."""


@dataclass(slots=True)
class Counted(Metrics):
    """Counts events beside what the worker measures anyway."""

    events: int = 0

    def count(self, metric: Metric, amount: float = 1, **labels: str) -> None:
        """Count."""
        Metrics.count(self, metric, amount, **labels)
        if metric is EVENTS:
            self.events += int(amount)


@dataclass(slots=True)
class Discarding:
    """An emitter and a journal that keep nothing."""

    sent: int = 0
    markers: dict[str, bytes] = field(default_factory=dict)

    async def emit(
        self, topic: str, *, key: str, value: bytes | None, headers: Mapping[str, bytes] | None = None
    ) -> tuple[int, int]:
        """Count."""
        self.sent += 1
        return 0, self.sent

    async def emit_all(self, topic: str, messages: Sequence[tuple[str, bytes | None]]) -> None:
        """Count."""
        self.sent += len(messages)

    async def close(self) -> None:
        """Do nothing."""

    async def entries(self, partition: int) -> dict[str, bytes]:
        """Return none."""
        return {}

    async def put(self, partition: int, entries: Mapping[str, bytes | None]) -> None:
        """Do nothing."""

    async def history(self, partition: Partition, first: int, last: int) -> list[Record]:
        """Return none."""
        return []


@dataclass(slots=True)
class Done:
    """An acknowledgement that nobody hears."""

    offset: int

    def __call__(self) -> None:
        """Do nothing."""


async def fetched(connection: Connection) -> AsyncIterator[Sequence[Any]]:
    """Yield messages as `getmany` brings them, from the first one of every partition."""
    consumer = AIOKafkaConsumer(**connection.options(), enable_auto_commit=False, max_partition_fetch_bytes=4 << 20)
    await consumer.start()
    tps = await partitions_of(connection, [TOOL_EVENTS.name])
    consumer.assign(tps)
    await consumer.seek_to_beginning(*tps)
    while True:
        for messages in (await consumer.getmany(timeout_ms=100)).values():
            yield messages


async def read(connection: Connection, metrics: Counted, *, decoded: bool) -> None:
    """Read raw, and decode."""
    async for messages in fetched(connection):
        for message in messages:
            metrics.events += len(decode(message.value)[0]) if decoded else message.value.count(b"\n") + 1


async def conclude(connection: Connection, metrics: Counted, folder: Path) -> None:
    """Read raw, and conclude."""
    nowhere = Discarding()
    options = WorkerOptions(connection=connection, folder=folder)
    correlator = Correlator(nowhere, nowhere, options, telemetry=Telemetry(metrics))
    flushing = asyncio.create_task(correlator.flush_for_ever())
    async for messages in fetched(connection):
        for message in messages:
            await correlator.take(1, record_of(message), Done(message.offset))
    await flushing


async def agent(connection: Connection, metrics: Counted, folder: Path) -> None:
    """Read with Faust, decode and ack."""
    app = worker_app("bench-faust", connection, folder=folder)

    async def count(stream: Any) -> None:
        async for event in stream.noack().events():
            metrics.events += len(decode(event.message.value)[0])
            acknowledge(app, event.message)

    app.agent(app.topic(TOOL_EVENTS.name, key_type=bytes, value_type=bytes), concurrency=1)(count)
    await app.start()
    await asyncio.Event().wait()


async def sample(metrics: Counted) -> None:
    """Tell for ever."""
    while True:
        print(time.monotonic(), time.process_time(), metrics.events, flush=True)  # read by the bench
        await asyncio.sleep(SAMPLE_SECONDS)


async def run(kind: str, bootstrap: str, folder: Path) -> None:
    """Read until killed."""
    quiet()
    connection = Connection(bootstrap=bootstrap, session_timeout_s=SESSION_SECONDS)
    metrics = Counted()
    telling = asyncio.create_task(sample(metrics))
    match kind:
        case "fetch" | "decode":
            await read(connection, metrics, decoded=kind == "decode")
        case "faust":
            await agent(connection, metrics, folder)
        case "core":
            await conclude(connection, metrics, folder)
        case "worker":
            options = WorkerOptions(connection=connection, folder=folder, group=GROUP)
            await work(options, telemetry=Telemetry(metrics))
    telling.cancel()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("fetch", "decode", "faust", "core", "worker"))
    parser.add_argument("bootstrap")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        asyncio.run(run(arguments.kind, arguments.bootstrap, Path(scratch)))
    sys.stdout.flush()
    os._exit(0)
