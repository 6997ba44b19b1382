"""What the worker costs beside a raw aiokafka loop over the same bytes, what two of them do, and how soon one answers.

    python -m benches.streams [--events 100000]

Apache Kafka, one node on this machine. Every reader is a process of its own; its rate is counted in events per second
of processor time, because a broker and several readers share few cores, and the wall clock stands beside it. The
latencies are wall time. Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from aiokafka import errors as kafka
from aiokafka.admin import AIOKafkaAdminClient

from benches.correlator_cost import an_invocation
from benches.recording import messages
from benches.roles import quiet
from benches.streams_latency import Latency, latency
from benches.streams_readers import SESSION_SECONDS
from correlator.consumer import GROUP
from deploy.child import Child, spawn
from deploy.kafka import jars
from deploy.kafka.cluster import KafkaCluster
from streams.client import Connection, ensure_topics
from streams.emitter import KafkaEmitter
from streams.events import EventId, InvocationEnded, ToolEvent
from streams.topics import TOOL_EVENTS

PARTITIONS = 4
IDLE_SECONDS = 1.5
"""A reader that spends nothing for so long has done everything."""

BARS = {
    "worker / raw loop, 100 events a message": 0.35,
    "two workers / one": 1.6,
}
"""Figure -> least value that is accepted."""

LATENCY_BARS = {"open_p50": 0.1, "open_p99": 1.0, "catalog_p95": 3.0}
"""Figure -> most seconds that are accepted."""

Messages = Sequence[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class Sample:
    """What a reader told at one moment."""

    at: float
    cpu: float
    events: int


@dataclass(frozen=True, slots=True)
class Spent:
    """What reading everything took."""

    events: int
    wall_s: float
    cpu_s: tuple[float, ...]
    """By reader."""

    @property
    def us(self) -> float:
        """Processor microseconds an event."""
        return sum(self.cpu_s) / self.events * 1e6

    @property
    def rate(self) -> float:
        """Events per second that these readers do when each has a core of its own."""
        return self.events / max(self.cpu_s)

    def __str__(self) -> str:
        wall = self.events / self.wall_s
        return f"{self.rate:9,.0f} events/s of processor time ({self.us:5.1f} us an event), {wall:9,.0f}/s by the clock"


def tool_events(count: int) -> list[ToolEvent]:
    """Return events of about 1.3 KB: invocations of 50 calls that end."""
    draw = random.Random(7)
    events: list[ToolEvent] = []
    for number in range(count // 51):
        calls = an_invocation(number, draw)
        last = calls[-1]
        events += calls
        events.append(
            InvocationEnded(
                event_id=EventId(f"end-{number}"),
                occurred_at=last.occurred_at,
                agent_id=last.agent_id,
                runtime=last.runtime,
                source=last.source,
                invocation_id=last.invocation_id,
                session_id=last.session_id,
                root_session_id=last.root_session_id,
                calls=len(calls),
            )
        )
    return events


class Reader:
    """A process of benches/streams_readers.py."""

    def __init__(self, kind: str, cluster: KafkaCluster, folder: Path) -> None:
        argv = [sys.executable, "-m", "benches.streams_readers", kind, cluster.bootstrap]
        self._child: Child = spawn(kind, argv, log=folder / f"{kind}-{time.monotonic_ns()}.log")

    def samples(self) -> list[Sample]:
        """Return what it has told so far."""
        lines = self._child.log.read_text(encoding="utf-8").splitlines()
        told = [line.split() for line in lines if line[:1].isdigit() and line.count(" ") == 2]
        if not self._child.alive:
            raise RuntimeError(f"expected {self._child.name} to read on, got:\n{self._child.last_words()}")
        return [Sample(float(at), float(cpu), int(events)) for at, cpu, events in told[:-1]]

    def send(self, number: int) -> None:
        """Stop or continue it."""
        os.kill(self._child.process.pid, number)

    def stop(self) -> None:
        """End it."""
        self._child.stop(2.0)


async def spent(readers: Sequence[Reader], expected: int) -> Spent:
    """Return what these readers spend until all events are read and nothing is left to do."""
    while True:
        await asyncio.sleep(0.2)
        told = [each.samples() for each in readers]
        if all(told) and sum(each[-1].events for each in told) >= expected and all(_idle(each) for each in told):
            break
    begin = min(_first(each).at for each in told)
    end = max(next(s.at for s in each if s.events == each[-1].events) for each in told)
    return Spent(expected, end - begin, tuple(_busy(each, end) for each in told))


def _busy(samples: Sequence[Sample], end: float) -> float:
    """Return the processor seconds of a reader's work, without what it spends on standing by after the end."""
    last = samples[-1]
    before = next(each for each in reversed(samples) if last.at - each.at >= IDLE_SECONDS)
    standing_by = (last.cpu - before.cpu) / (last.at - before.at)
    return last.cpu - _first(samples).cpu - standing_by * (last.at - end)


def _first(samples: Sequence[Sample]) -> Sample:
    """Return the last sample before the first event."""
    return [each for each in samples if not each.events][-1]


def _idle(samples: Sequence[Sample]) -> bool:
    last = samples[-1]
    before = next((each for each in reversed(samples) if last.at - each.at >= IDLE_SECONDS), None)
    return before is not None and last.events == before.events and last.cpu - before.cpu < IDLE_SECONDS / 8


@contextlib.contextmanager
def cluster_with_topics(folder: Path, lib: Path) -> Iterator[tuple[KafkaCluster, Connection]]:
    """Start a broker of its own with empty topics: markers of an earlier reader would change what a worker does."""
    with tempfile.TemporaryDirectory(dir=folder) as name, KafkaCluster(Path(name), lib=lib) as cluster:
        connection = Connection(bootstrap=cluster.bootstrap, session_timeout_s=SESSION_SECONDS)
        asyncio.run(ensure_topics(connection, partitions=PARTITIONS))
        yield cluster, connection


async def workers(number: int, cluster: KafkaCluster, connection: Connection, filled: Messages, folder: Path) -> Spent:
    """Return what so many workers of one group spend; they stand still while the topic is filled."""
    readers = [Reader("worker", cluster, folder) for _ in range(number)]
    try:
        await _stable(connection, number)
        for each in readers:
            each.send(signal.SIGSTOP)
        await fill(connection, filled)
        for each in readers:
            each.send(signal.SIGCONT)
        return await spent(readers, _events(filled))
    finally:
        for each in readers:
            each.stop()


async def alone(kind: str, cluster: KafkaCluster, filled: Messages, folder: Path) -> Spent:
    """Return what one reader of this kind spends on a topic that has been filled."""
    reader = Reader(kind, cluster, folder)
    try:
        return await spent([reader], _events(filled))
    finally:
        reader.stop()


async def fill(connection: Connection, filled: Messages) -> None:
    """Append everything."""
    async with KafkaEmitter(connection) as emitter:
        for start in range(0, len(filled), 500):
            await emitter.emit_all(TOOL_EVENTS.name, filled[start : start + 500])


async def _stable(connection: Connection, members: int) -> None:
    """Return once the group of the workers has so many members and each knows its partitions."""
    admin = AIOKafkaAdminClient(**connection.options())
    await admin.start()
    try:
        calm = 0
        while calm < 5:
            await asyncio.sleep(0.2)
            with contextlib.suppress(kafka.KafkaError):  # nobody has asked for the group yet
                (answer,) = await admin.describe_consumer_groups([GROUP])
                _, _, state, _, _, found, *_ = answer.groups[0]
                calm = calm + 1 if state == "Stable" and len(found) == members else 0
    finally:
        await admin.close()


def _events(filled: Messages) -> int:
    return sum(value.count(b"\n") + 1 for _, value in filled)


def throughput(events: Sequence[ToolEvent], folder: Path, lib: Path) -> dict[str, float]:
    """Print the rates and where a worker's time goes; return the figures that have bars."""
    by_100, by_1 = list(messages(events, batch=100)), list(messages(events[: len(events) // 5], batch=1))
    size = sum(len(value) for _, value in by_100) / _events(by_100)
    print(f"{len(events):,} events of {size:,.0f} bytes, {PARTITIONS} partitions, {os.cpu_count()} cores")
    with cluster_with_topics(folder, lib) as (cluster, connection):
        found = {"worker": asyncio.run(workers(1, cluster, connection, by_100, folder))}
        for kind in ("fetch", "decode", "faust", "core"):
            found[kind] = asyncio.run(alone(kind, cluster, by_100, folder))
    with cluster_with_topics(folder, lib) as (cluster, connection):
        two = asyncio.run(workers(2, cluster, connection, by_100, folder))
    with cluster_with_topics(folder, lib) as (cluster, connection):
        single = asyncio.run(workers(1, cluster, connection, by_1, folder))
    print(f"raw aiokafka getmany + msgspec      {found['decode']}")
    print(f"worker, 100 events a message        {found['worker']}")
    print(f"two workers, 100 events a message   {two}")
    print(f"worker, 1 event a message           {single}")
    _stages(found)
    share = ", ".join(f"{each / sum(two.cpu_s):.0%}" for each in two.cpu_s)
    by_the_clock = found["worker"].wall_s / two.wall_s
    print(f"two workers share the work {share}; by the clock {by_the_clock:.2f} times one")
    values = (found["worker"].rate / found["decode"].rate, two.rate / found["worker"].rate)
    return dict(zip(BARS, values, strict=True))


def _stages(found: dict[str, Spent]) -> None:
    us = {kind: each.us for kind, each in found.items()}
    faust, core = us["faust"] - us["decode"], us["core"] - us["decode"]
    stages = {
        "fetch": us["fetch"],
        "decode": us["decode"] - us["fetch"],
        "Faust and acks": faust,
        "conclude and encode": core,
        "deliver, markers, commits": us["worker"] - us["decode"] - faust - core,
    }
    print("us an event: " + ", ".join(f"{name} {value:.1f}" for name, value in stages.items()))


def main() -> int:
    """Print figures beside their bars and return 1 when one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20.0, help="of the latency measurement")
    arguments = parser.parse_args()
    quiet()
    lib = jars.fetch()
    with tempfile.TemporaryDirectory() as name:
        figures = throughput(tool_events(arguments.events), Path(name), lib)
        told: Latency = latency(tool_events(arguments.events), Path(name) / "latency", lib, arguments.seconds)
    print(told)
    missed = [name for name, bar in BARS.items() if figures[name] < bar]
    late = msgspec.structs.asdict(told)
    missed += [name for name, bar in LATENCY_BARS.items() if late[name] > bar]
    for name, bar in BARS.items():
        print(f"{name}: {figures[name]:.2f} (bar {bar})")
    for name, bar in LATENCY_BARS.items():
        print(f"{name}: {late[name]:.3f} s (bar {bar})")
    print("missed: " + ", ".join(missed) if missed else "every bar held")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
