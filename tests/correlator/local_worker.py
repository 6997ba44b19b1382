"""A worker on a `LocalLog` that can be killed: what Faust does for the correlator, without Faust."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from correlator.consumer import Correlator, WorkerOptions
from correlator.documents import NO_DOCUMENTS, Documents
from correlator.partition import Limits
from correlator.window import DEFAULT_POLICY, CorrelatorPolicy
from streams.client import Connection
from streams.clock import FixedClock
from streams.codec import batches
from streams.events import ToolEvent
from streams.log import Emitter, Partition
from streams.recall import RecallEvent, TaskTrajectory
from streams.testing import LocalLog
from streams.topics import PROGRESS, RECALL_EVENTS, TOOL_EVENTS, TRAJECTORIES
from tests.correlator.builders import at

GROUP = "trodden-correlator"


class Ack:
    """Remembers what was acked, in order."""

    def __init__(self, acked: dict[Partition, int], partition: Partition, offset: int) -> None:
        self.offset = offset
        self._acked = acked
        self._partition = partition

    def __call__(self) -> None:
        expected = self._acked.get(self._partition)
        assert expected is None or expected == self.offset, "acks go in offset order, without a gap"
        self._acked[self._partition] = self.offset + 1


class LocalWorker:
    """One life of a worker."""

    def __init__(
        self,
        log: LocalLog,
        *,
        limits: Limits | None = None,
        policy: CorrelatorPolicy = DEFAULT_POLICY,
        documents: Documents = NO_DOCUMENTS,
    ) -> None:
        self.clock = FixedClock(at(0))
        self._acked: dict[Partition, int] = {}
        self._consumer = log.consumer([TOOL_EVENTS.name], group=GROUP, on_revoked=self._forget)
        self._generation = 0
        options = WorkerOptions(
            connection=Connection(bootstrap="local:0"), folder=Path(), limits=limits or Limits(), policy=policy
        )
        self.correlator = Correlator(log.emitter(), log.journal(PROGRESS.name), options, self.clock, lambda: documents)

    def _forget(self, partitions: frozenset[Partition]) -> None:
        self._generation += 1
        for partition in partitions:
            self._acked.pop(partition, None)

    async def read(self, records: int) -> int:
        """Take up to so many records in, and return how many there were."""
        polled = await self._consumer.poll(max_records=records)
        for record in polled:
            partition = Partition(record.topic, record.partition)
            await self.correlator.take(self._generation, record, Ack(self._acked, partition, record.offset))
        return len(polled)

    async def flush(self) -> None:
        """Deliver and ack."""
        await self.correlator.flush()

    async def commit(self) -> None:
        """Commit what was acked."""
        await self._consumer.commit(self._acked)

    async def kill(self) -> None:
        """Die without a word; the group notices."""
        await self._consumer.close()

    async def finish(self) -> None:
        """Read and deliver everything, then commit."""
        while await self.read(100):
            pass
        await self.flush()
        await self.commit()


async def publish(log: LocalLog, events: Iterable[ToolEvent], *, batch: int = 1) -> None:
    """Append events to a log in memory."""
    await publish_to(log.emitter(), events, batch=batch)


async def publish_to(emitter: Emitter, events: Iterable[ToolEvent], *, batch: int = 1) -> None:
    """Append events in this order, `batch` to a message, keyed by their root session."""
    pending = list(events)
    for start in range(0, len(pending), batch):
        by_root: dict[str, list[ToolEvent]] = {}
        for event in pending[start : start + batch]:
            by_root.setdefault(event.root_session_id, []).append(event)
        for root, group in by_root.items():
            for value in batches(group):
                await emitter.emit(TOOL_EVENTS.name, key=root, value=value)


def final_recalls(log: LocalLog) -> dict[str, RecallEvent]:
    """Return what a reader of the topic ends with: the highest revision of each recall."""
    final: dict[str, RecallEvent] = {}
    for record in log.records(RECALL_EVENTS.name):
        recall = msgspec.json.decode(record.value or b"", type=RecallEvent)
        if recall.recall_id not in final or final[recall.recall_id].revision <= recall.revision:
            final[recall.recall_id] = recall
    return final


def compacted_recalls(log: LocalLog) -> dict[str, RecallEvent]:
    """Return what compaction would leave: the newest message of each recall."""
    newest = {record.key: record.value or b"" for record in log.records(RECALL_EVENTS.name)}
    recalls = [msgspec.json.decode(value, type=RecallEvent) for value in newest.values()]
    return {recall.recall_id: recall for recall in recalls}


def final_trajectories(log: LocalLog) -> dict[str, TaskTrajectory]:
    """Return the highest revision of each trajectory."""
    final: dict[str, TaskTrajectory] = {}
    for record in log.records(TRAJECTORIES.name):
        each = msgspec.json.decode(record.value or b"", type=TaskTrajectory)
        if each.trajectory_id not in final or final[each.trajectory_id].revision <= each.revision:
            final[each.trajectory_id] = each
    return final


def by_id(recalls: Sequence[RecallEvent]) -> dict[str, RecallEvent]:
    return {recall.recall_id: recall for recall in recalls}
