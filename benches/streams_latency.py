"""How soon a search that is published has its `open` revision on the topic, and its row in the catalog.

The one is measured in the first half of the time and the other in the second: whoever asks the catalog again and again
takes processor time from whom he watches.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import duckdb
import msgspec

from benches.roles import Roles
from deploy.kafka.cluster import KafkaCluster
from streams.client import Connection, ensure_topics
from streams.codec import encode
from streams.consumer import KafkaConsumer
from streams.emitter import KafkaEmitter
from streams.events import ToolCalled, ToolEvent
from streams.topics import RECALL_EVENTS, TOOL_EVENTS

EVENTS_PER_S = 500
WARM_UP_SECONDS = 8.0
PARALLEL = 50
"""Invocations that run at the same time."""
POLL_SECONDS = 0.25
PATIENCE_SECONDS = 30.0
"""How long the last rows are waited for."""

Moments = dict[str, float]
"""`invocation tool_use_id` of a search -> seconds of the monotonic clock."""


class Latency(msgspec.Struct, frozen=True):
    """Seconds from publishing a search; those published while the roles were warming up do not count."""

    searches: int
    open_p50: float
    open_p99: float
    catalog_p50: float
    catalog_p95: float
    rate: float
    """Events a second that were published."""

    def __str__(self) -> str:
        return (
            f"{self.rate:.0f} events/s, 1 a message, {self.searches} searches: "
            f"open revision p50 {self.open_p50:.3f} s, p99 {self.open_p99:.3f} s; "
            f"in the catalog p50 {self.catalog_p50:.2f} s, p95 {self.catalog_p95:.2f} s"
        )


class _Seen(msgspec.Struct):
    """The part of a recall event that names its search."""

    invocation_id: str
    tool_use_id: str


def latency(events: Sequence[ToolEvent], folder: Path, lib: Path, seconds: float) -> Latency:
    """Publish at an even pace to a correlator and a sink as they are run, and watch what comes of it."""
    with KafkaCluster(folder / "kafka", lib=lib) as cluster:
        return asyncio.run(_measure(Connection(bootstrap=cluster.bootstrap), events, folder, seconds))


async def _measure(connection: Connection, events: Sequence[ToolEvent], folder: Path, seconds: float) -> Latency:
    await ensure_topics(connection)
    roles = Roles(connection, folder)
    roles.start("correlator-1")
    roles.start("sink-1")
    published: Moments = {}
    opened: Moments = {}
    landed: Moments = {}
    half = WARM_UP_SECONDS + seconds / 2
    watching = [asyncio.create_task(_watch_topic(connection, opened))]
    try:
        await asyncio.sleep(WARM_UP_SECONDS / 2)
        begin = time.monotonic()
        watching.append(asyncio.create_task(_watch(folder, landed, begin + half)))
        count = int((WARM_UP_SECONDS + seconds) * EVENTS_PER_S)
        await _publish(connection, list(interleaved(events))[:count], published)
        rate = count / (time.monotonic() - begin)
        first = {key: at for key, at in published.items() if begin + WARM_UP_SECONDS <= at < begin + half}
        second = {key: at for key, at in published.items() if at >= begin + half}
        await _all_seen(second, landed, watching)
    finally:
        for task in watching:
            task.cancel()
        roles.stop()
    to_open = sorted(opened[key] - at for key, at in first.items())
    to_catalog = sorted(landed[key] - at for key, at in second.items())
    return Latency(
        len(first) + len(second),
        _at(to_open, 0.5),
        _at(to_open, 0.99),
        _at(to_catalog, 0.5),
        _at(to_catalog, 0.95),
        rate,
    )


def interleaved(events: Sequence[ToolEvent]) -> Iterator[ToolEvent]:
    """Yield the events of many invocations in turns."""
    by_invocation: dict[str, list[ToolEvent]] = {}
    for event in events:
        by_invocation.setdefault(event.invocation_id, []).append(event)
    groups = list(by_invocation.values())
    for start in range(0, len(groups), PARALLEL):
        for turn in zip_longest(*groups[start : start + PARALLEL]):
            yield from (event for event in turn if event is not None)


async def _publish(connection: Connection, events: Sequence[ToolEvent], published: Moments) -> None:
    begin = time.monotonic()
    async with KafkaEmitter(connection) as emitter, asyncio.TaskGroup() as sending:
        for number, event in enumerate(events):
            await asyncio.sleep(max(0.0, begin + number / EVENTS_PER_S - time.monotonic()))
            if isinstance(event, ToolCalled) and event.recall is not None:
                published[f"{event.invocation_id} {event.tool_use_id}"] = time.monotonic()
            sending.create_task(emitter.emit(TOOL_EVENTS.name, key=event.root_session_id, value=encode([event])))


async def _watch_topic(connection: Connection, opened: Moments) -> None:
    decoder = msgspec.json.Decoder(_Seen)
    async with KafkaConsumer(connection, [RECALL_EVENTS.name], group="bench-latency") as consumer:
        while True:
            for record in await consumer.poll(timeout_s=0.05):
                seen = decoder.decode(record.value or b"{}")
                opened.setdefault(f"{seen.invocation_id} {seen.tool_use_id}", time.monotonic())


async def _watch(folder: Path, landed: Moments, begin: float) -> None:
    await asyncio.sleep(begin - time.monotonic())
    while True:
        found = await asyncio.to_thread(_rows, folder / "catalog.duckdb")
        now = time.monotonic()
        for key in found:
            landed.setdefault(key, now)
        await asyncio.sleep(POLL_SECONDS)


def _rows(catalog: Path) -> list[str]:
    if not catalog.exists():
        return []
    with duckdb.connect(str(catalog), read_only=True, config={"threads": 1}) as db:
        return [
            key for (key,) in db.execute("SELECT invocation_id || ' ' || tool_use_id FROM recall_events").fetchall()
        ]


async def _all_seen(counted: Mapping[str, float], landed: Moments, watching: Sequence[asyncio.Task[None]]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not counted.keys() <= landed.keys():
        for task in watching:
            if task.done():
                task.result()
        if time.monotonic() > deadline:
            missing = len(counted.keys() - landed.keys())
            raise TimeoutError(f"expected {len(counted)} searches in the catalog, {missing} are missing")
        await asyncio.sleep(0.1)


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
