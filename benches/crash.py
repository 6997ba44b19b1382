"""Kills workers, sinks and the broker at random while a recording streams through, and compares with a replay.

`python -m benches.crash` runs it in full: 200,000 events, 20 kills, one rebalance storm, on Apache Kafka.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benches.recording import Shape, messages, recording, ticks
from benches.roles import Roles, quiet
from deploy.kafka import jars
from deploy.kafka.cluster import KafkaCluster
from deploy.replay import Comparison, compare, conclusions_of
from streams.client import Connection, ensure_topics
from streams.emitter import KafkaEmitter
from streams.errors import BrokerUnavailable
from streams.events import ToolEvent
from streams.log import Emitter
from streams.topics import TOOL_EVENTS
from warehouse.store import Warehouse

PARTITIONS = 4
SESSION_SECONDS = 4.0
VICTIMS = ("correlator-1", "correlator-2", "sink-1", "sink-2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How rough it gets."""

    shape: Shape
    kills: int = 20
    batch: int = 20
    storm: int = 4
    """Times that a third worker joins and leaves within seconds."""
    events_per_s: int = 4000
    seed: int = 7


@dataclass(slots=True)
class Report:
    """What came of it."""

    events: int = 0
    killed: list[str] = field(default_factory=list)
    seconds: float = 0.0
    caught_up_s: float = 0.0
    """From the last kill, or the last event when that is later, until all was concluded, landed and committed."""
    comparisons: Sequence[Comparison] = ()

    @property
    def equal(self) -> bool:
        """Tell whether the tables are those of the replay."""
        return bool(self.comparisons) and all(each.equal and each.rows for each in self.comparisons)


class Run:
    """One run in one folder."""

    def __init__(self, plan: Plan, folder: Path, cluster: KafkaCluster) -> None:
        self.plan = plan
        self.rng = random.Random(plan.seed)
        self.folder = folder
        self.cluster = cluster
        self.connection = Connection(bootstrap=cluster.bootstrap, session_timeout_s=SESSION_SECONDS)
        env = {"TRODDEN_PARTITIONS": str(PARTITIONS), "TRODDEN_FLUSH_SECONDS": "1"}
        self.roles = Roles(self.connection, folder, env=env)
        self.report = Report()

    async def __call__(self) -> Report:
        """Stream, kill, wait, compare."""
        events = recording(self.plan.shape, self.plan.seed)
        self.report.events = len(events)
        started = time.monotonic()
        await ensure_topics(self.connection, partitions=PARTITIONS)
        for name in VICTIMS:
            self.roles.start(name)
        watching = asyncio.create_task(self.roles.supervise())
        try:
            await asyncio.gather(self._publish(events), self._kill())
            quiet_since = time.monotonic()
            await self.roles.drained()
            self.report.caught_up_s = time.monotonic() - quiet_since
        finally:
            watching.cancel()
            self.roles.stop()
        self.report.seconds = time.monotonic() - started
        self.report.comparisons = compare(Warehouse(self.folder), conclusions_of(events))
        return self.report

    async def _publish(self, events: Sequence[ToolEvent]) -> None:
        """Append every message in order at the planned pace, then let event time close what never ended."""
        async with KafkaEmitter(self.connection, timeout_s=5.0) as emitter:
            await self._append(emitter, list(messages(events, batch=self.plan.batch)))
            for days in (1, 2):
                await self._append(emitter, list(messages(ticks(self.plan.shape, days), batch=1)))

    async def _append(self, emitter: Emitter, pending: Sequence[tuple[str, bytes]]) -> None:
        pace_s = self.plan.batch * 50 / self.plan.events_per_s
        for start in range(0, len(pending), 50):
            began = time.monotonic()
            while True:
                try:
                    await emitter.emit_all(TOOL_EVENTS.name, pending[start : start + 50])
                except BrokerUnavailable:
                    await asyncio.sleep(0.2)
                else:
                    break
            await asyncio.sleep(max(0.0, pace_s - (time.monotonic() - began)))

    async def _kill(self) -> None:
        span_s = self.report.events / self.plan.events_per_s
        victims = [self.rng.choice(VICTIMS) for _ in range(self.plan.kills)]
        victims[self.plan.kills // 2] = "broker"
        storm_at = self.plan.kills // 3
        for number, victim in enumerate(victims):
            await asyncio.sleep(self.rng.uniform(0.5, 1.5) * span_s / self.plan.kills)
            if victim == "broker":
                self.cluster.kill(1)
                await asyncio.sleep(1.0)
                self.cluster.start(1)
                await asyncio.to_thread(self.cluster.wait, 1)
            else:
                self.roles.children[victim].process.kill()
            self.report.killed.append(victim)
            if number == storm_at:
                await self._storm()

    async def _storm(self) -> None:
        for _ in range(self.plan.storm):
            self.roles.start("correlator-3")
            await asyncio.sleep(self.rng.uniform(1.0, 3.0))
            self.roles.stop(["correlator-3"])


def run(plan: Plan, folder: Path, lib: Path) -> Report:
    """Run the plan on an Apache Kafka of its own."""
    with KafkaCluster(folder / "kafka", lib=lib) as cluster:
        return asyncio.run(Run(plan, folder, cluster)())


def main() -> None:
    """Run in full and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--invocations", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    quiet()
    shape = Shape(invocations=arguments.invocations, sessions=max(20, arguments.invocations // 10))
    with tempfile.TemporaryDirectory() as folder:
        report = run(Plan(shape=shape, kills=arguments.kills, seed=arguments.seed), Path(folder), jars.fetch())
    print(f"{report.events:,} events, {len(report.killed)} kills: {', '.join(report.killed)}")
    for each in report.comparisons:
        print(f"{each.table}: {each.rows:,} rows, {each.lost} lost, {each.extra} extra, {each.differing} differing")
        if each.first:
            print(f"  first: {each.first}")
    print(f"{report.seconds:.0f} s in all; {report.caught_up_s:.1f} s from the last kill and event to caught up")
    sys.exit(0 if report.equal else 1)


if __name__ == "__main__":
    main()
