"""Half an hour at an even pace, with the broker away for a minute: is the memory flat, does lag end, is all there?

    python -m benches.soak --minutes 30

Apache Kafka, a correlator and a sink as they are run. 1,000 events a second, ten a message. After the warm-up, a third
of the time, comes the outage; publishing goes on and waits for the broker as every producer of ours does. Memory is
the resident set of a process, looked at every second; compared are the medians of the last third and of the minutes
that follow the warm-up. At the end the ids, revisions and phases of all rows are compared with a replay (columns are
what benches/crash.py compares). Exits with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benches.recording import Shape, invocation, ticks
from benches.roles import Roles, quiet
from correlator.offline import correlate
from deploy.kafka import jars
from deploy.kafka.cluster import KafkaCluster
from streams.client import Connection, ensure_topics
from streams.codec import encode
from streams.emitter import KafkaEmitter
from streams.errors import BrokerUnavailable
from streams.events import ToolEvent
from streams.topics import TOOL_EVENTS
from warehouse.store import Warehouse

FLAT = 1.05
"""Memory of the last minutes over that of the first ones after the warm-up."""

BATCH = 10
PARALLEL = 50
"""Invocations that run at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long and how much."""

    minutes: float = 30.0
    events_per_s: int = 1000
    outage_s: float = 60.0

    @property
    def seconds(self) -> float:
        """The whole."""
        return self.minutes * 60

    @property
    def shape(self) -> Shape:
        """Invocations of 100 events that fill the time."""
        count = int(self.seconds * self.events_per_s / 100)
        return Shape(invocations=count, sessions=200, parallel=PARALLEL)


@dataclass(slots=True)
class Soaked:
    """What was seen."""

    published: int = 0
    late_s: float = 0.0
    """How far publishing was behind its pace at worst: the outage, and the machine's other work."""
    restarts: int = 0
    memory: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    """Role -> (seconds since the begin, MiB)."""
    lags: list[tuple[float, int]] = field(default_factory=list)
    """(seconds since the begin, records behind)."""
    caught_up_s: float | None = None
    """From the broker's return until no more is uncommitted than before the outage; open invocations hold some."""
    drained_s: float = 0.0
    """From the last event until nothing was behind."""
    differences: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    """Table -> rows of the replay, lost, extra, of another revision or phase."""

    def flatness(self, role: str, plan: Plan) -> float:
        """Return the memory of the last third over that of the sixth of the time that follows the warm-up."""
        of = self.memory[role]
        third = plan.seconds / 3
        first = [mib for at, mib in of if third <= at < 1.5 * third]
        last = [mib for at, mib in of if at >= 2 * third]
        return statistics.median(last) / statistics.median(first)


class Soak:
    """One run."""

    def __init__(self, plan: Plan, folder: Path, cluster: KafkaCluster) -> None:
        self.plan = plan
        self.folder = folder
        self.cluster = cluster
        self.connection = Connection(bootstrap=cluster.bootstrap)
        self.roles = Roles(self.connection, folder)
        self.soaked = Soaked()
        self.begin = 0.0

    @property
    def since(self) -> float:
        """Seconds since the begin."""
        return time.monotonic() - self.begin

    async def __call__(self) -> Soaked:
        """Publish, look, take the broker away, wait, compare."""
        await ensure_topics(self.connection)
        for name in ("correlator-1", "sink-1"):
            self.roles.start(name)
        self.begin = time.monotonic()
        watching = [asyncio.create_task(each) for each in (self._look(), self._look_at_lag(), self.roles.supervise())]
        try:
            await asyncio.gather(self._publish(), self._outage())
            published = time.monotonic()
            await self.roles.drained()
            self.soaked.drained_s = time.monotonic() - published
        finally:
            for task in watching:
                task.cancel()
            self.soaked.restarts = self.roles.restarts
            self.roles.stop()
        self.soaked.differences = await asyncio.to_thread(self._compare)
        return self.soaked

    async def _publish(self) -> None:
        pending = messages(self.plan.shape)
        async with KafkaEmitter(self.connection, timeout_s=5.0) as emitter:
            while self.since < self.plan.seconds:
                due = int(self.since * self.plan.events_per_s) - self.soaked.published
                self.soaked.late_s = max(self.soaked.late_s, due / self.plan.events_per_s)
                chunk = [next(pending, None) for _ in range(min(due // BATCH, 200))]
                await self._append(emitter, [each for each in chunk if each is not None])
                self.soaked.published += len(chunk) * BATCH
                if None in chunk:
                    break
                await asyncio.sleep(0.02)
            rest = list(pending)
            await self._append(emitter, rest)
            self.soaked.published += len(rest) * BATCH
            for days in (1, 2):
                closing = [(each.root_session_id, encode([each])) for each in ticks(self.plan.shape, days)]
                await self._append(emitter, closing)

    async def _append(self, emitter: KafkaEmitter, chunk: Sequence[tuple[str, bytes]]) -> None:
        sent = False
        while not sent:
            try:
                await emitter.emit_all(TOOL_EVENTS.name, chunk)
                sent = True
            except BrokerUnavailable:
                await asyncio.sleep(0.5)

    async def _outage(self) -> None:
        await asyncio.sleep(self.plan.seconds / 2)
        usual = max(behind for at, behind in self.soaked.lags if at > self.plan.seconds / 4)
        self.cluster.kill(1)
        await asyncio.sleep(self.plan.outage_s)
        self.cluster.start(1)
        await asyncio.to_thread(self.cluster.wait, 1)
        back = time.monotonic()
        while self.soaked.caught_up_s is None and self.since < 1.1 * self.plan.seconds:
            await asyncio.sleep(1.0)
            at, behind = self.soaked.lags[-1]
            if at > back - self.begin and behind <= usual:
                self.soaked.caught_up_s = time.monotonic() - back

    async def _look(self) -> None:
        while True:
            for name, child in self.roles.children.items():
                if (mib := resident_mib(child.process.pid)) is not None:
                    self.soaked.memory.setdefault(name, []).append((self.since, mib))
            await asyncio.sleep(1.0)

    async def _look_at_lag(self) -> None:
        """Ask for the lag, and tell how it goes."""
        while True:
            try:
                behind = await self.roles.backlog()
            except BrokerUnavailable:
                behind = -1
            else:
                self.soaked.lags.append((self.since, behind))
            memory = ", ".join(f"{name} {of[-1][1]:.0f} MiB" for name, of in self.soaked.memory.items())
            told = "broker away" if behind < 0 else f"{behind:,} records behind"
            print(f"{self.since:6.0f} s: {self.soaked.published:,} published, {told}, {memory}", flush=True)
            await asyncio.sleep(10.0)

    def _compare(self) -> dict[str, tuple[int, int, int, int]]:
        wanted: dict[str, dict[str, tuple[int, str]]] = {"recall_events": {}, "trajectories": {}}
        for events in invocations(self.plan.shape):
            recalls, trajectories = correlate(events)
            wanted["recall_events"] |= {each.recall_id: (each.revision, each.phase) for each in recalls}
            wanted["trajectories"] |= {each.trajectory_id: (each.revision, each.phase) for each in trajectories}
        return {table: self._differences(table, rows) for table, rows in wanted.items()}

    def _differences(self, table: str, wanted: dict[str, tuple[int, str]]) -> tuple[int, int, int, int]:
        identity = {"recall_events": "recall_id", "trajectories": "trajectory_id"}[table]
        with Warehouse(self.folder).connect() as connection:
            found = connection.execute(f"SELECT {identity}, revision, phase FROM {table}").fetchall()
        landed = {key: (revision, phase) for key, revision, phase in found}
        both = wanted.keys() & landed.keys()
        differing = sum(wanted[key] != landed[key] for key in both)
        return len(wanted), len(wanted.keys() - landed.keys()), len(landed.keys() - wanted.keys()), differing


def invocations(shape: Shape) -> Iterator[list[ToolEvent]]:
    """Yield the events of one invocation after the other; the same at every call."""
    rng = random.Random(7)
    for number in range(shape.invocations):
        yield list(invocation(number, number * 3.0 * shape.calls / shape.parallel, shape, rng))


def messages(shape: Shape) -> Iterator[tuple[str, bytes]]:
    """Yield messages of ten events one by one, so that none need be held: many invocations in turns."""
    waiting = invocations(shape)
    running: deque[Iterator[tuple[str, bytes]]] = deque()
    while True:
        while len(running) < shape.parallel and (events := next(waiting, None)) is not None:
            running.append(_of_one(events))
        if not running:
            return
        taken = running.popleft()
        if (message := next(taken, None)) is not None:
            yield message
            running.append(taken)


def _of_one(events: Sequence[ToolEvent]) -> Iterator[tuple[str, bytes]]:
    for start in range(0, len(events), BATCH):
        part = events[start : start + BATCH]
        yield part[0].root_session_id, encode(part)


def resident_mib(pid: int) -> float | None:
    """Return the resident set of a process; null when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return None
    kib = next((line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")), None)
    return None if kib is None else int(kib) / 1024


def main() -> int:
    """Run, and print figures beside their bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=int, default=1000, help="events a second")
    parser.add_argument("--outage", type=float, default=60.0, help="seconds")
    arguments = parser.parse_args()
    quiet()
    plan = Plan(minutes=arguments.minutes, events_per_s=arguments.rate, outage_s=arguments.outage)
    with tempfile.TemporaryDirectory() as name, KafkaCluster(Path(name) / "kafka", lib=jars.fetch()) as cluster:
        soaked = asyncio.run(Soak(plan, Path(name), cluster)())
    return told(soaked, plan)


def told(soaked: Soaked, plan: Plan) -> int:
    """Print the figures and return 1 when a bar is missed."""
    flat = {name: soaked.flatness(name, plan) for name in soaked.memory}
    for name, ratio in flat.items():
        print(f"memory of {name}: last third {ratio:.3f} of after the warm-up (bar {FLAT})")
    print(f"{soaked.published:,} events, {soaked.restarts} restarts, publishing at most {soaked.late_s:.0f} s behind")
    returned = "never" if soaked.caught_up_s is None else f"{soaked.caught_up_s:.0f} s after the broker's return"
    print(f"caught up {returned}; drained {soaked.drained_s:.1f} s after the end")
    for table, (rows, lost, extra, differing) in soaked.differences.items():
        print(f"{table}: {rows:,} rows, {lost} lost, {extra} extra, {differing} differing")
    whole = bool(soaked.differences) and all(rows and not any(rest) for rows, *rest in soaked.differences.values())
    return int(not (whole and soaked.caught_up_s is not None and all(ratio <= FLAT for ratio in flat.values())))


if __name__ == "__main__":
    sys.exit(main())
