"""`LocalLog`: topics in memory behind the same interface as Kafka, for tests of whoever reads or writes the log.

It is deterministic: nothing waits, keys go to the partitions that Kafka would choose, members of a group share
partitions in the order they joined, and an uncommitted record comes again after a rebalance.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from streams.clock import Clock, FixedClock
from streams.errors import PartitionLost
from streams.log import Partition, Record, newest_by_key
from streams.partitioner import partition_of

_START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class _Group:
    members: list[LocalConsumer] = field(default_factory=list)
    committed: dict[Partition, int] = field(default_factory=dict)


class LocalLog:
    """A whole broker in memory."""

    def __init__(self, *, partitions: int = 4, clock: Clock | None = None) -> None:
        self._partitions = partitions
        self._clock = clock or FixedClock(_START)
        self._records: dict[Partition, list[Record]] = {}
        self._groups: dict[str, _Group] = {}

    def emitter(self) -> LocalEmitter:
        """Return a new emitter of this log."""
        return LocalEmitter(self)

    def consumer(
        self, topics: Iterable[str], *, group: str, on_revoked: Callable[[frozenset[Partition]], None] | None = None
    ) -> LocalConsumer:
        """Return a new member of a group; the partitions are shared anew at once."""
        members = self._groups.setdefault(group, _Group())
        consumer = LocalConsumer(self, members, frozenset(topics), on_revoked or (lambda _: None))
        members.members.append(consumer)
        self.share(members)
        return consumer

    def journal(self, topic: str) -> LocalJournal:
        """Return a journal on a topic of this log."""
        return LocalJournal(self, topic)

    def records(self, topic: str) -> list[Record]:
        """Return everything on a topic, by partition and offset."""
        return [record for n in range(self._partitions) for record in self.read(Partition(topic, n), 0)]

    def committed(self, group: str) -> dict[Partition, int]:
        """Return the next offset to read of each partition that the group has committed."""
        return dict(self._groups[group].committed) if group in self._groups else {}

    def append(self, topic: str, key: bytes, value: bytes | None, headers: Mapping[str, bytes]) -> tuple[int, int]:
        """Append one record and return its (partition, offset)."""
        return self.append_to(Partition(topic, partition_of(key, self._partitions)), key, value, headers)

    def append_to(
        self, partition: Partition, key: bytes, value: bytes | None, headers: Mapping[str, bytes]
    ) -> tuple[int, int]:
        """Append one record to a certain partition."""
        records = self._records.setdefault(partition, [])
        record = Record(
            topic=partition.topic,
            partition=partition.number,
            offset=len(records),
            key=key,
            value=value,
            timestamp=self._clock.now(),
            headers=dict(headers),
        )
        records.append(record)
        return partition.number, record.offset

    def read(self, partition: Partition, offset: int) -> list[Record]:
        """Return the records of a partition from an offset on."""
        return self._records.get(partition, [])[offset:]

    def share(self, group: _Group) -> None:
        """Deal the partitions of every topic to its members, round robin; all read on from what is committed."""
        for member in group.members:
            member.revoke()
        for topic in sorted({topic for member in group.members for topic in member.topics}):
            readers = [member for member in group.members if topic in member.topics]
            for number in range(self._partitions):
                partition = Partition(topic, number)
                readers[number % len(readers)].assign(partition, group.committed.get(partition, 0))


class LocalEmitter:
    """An `Emitter` on a `LocalLog`; everything is acknowledged at once."""

    def __init__(self, log: LocalLog) -> None:
        self._log = log

    async def emit(
        self, topic: str, *, key: str, value: bytes | None, headers: Mapping[str, bytes] | None = None
    ) -> tuple[int, int]:
        """Append one message and return its (partition, offset)."""
        return self._log.append(topic, key.encode(), value, headers or {})

    async def emit_all(self, topic: str, messages: Sequence[tuple[str, bytes | None]]) -> None:
        """Append (key, value) messages in order."""
        for key, value in messages:
            self._log.append(topic, key.encode(), value, {})

    async def close(self) -> None:
        """Do nothing: there is nothing to flush."""


class LocalConsumer:
    """A `Consumer` on a `LocalLog`; `poll` never waits."""

    def __init__(
        self,
        log: LocalLog,
        group: _Group,
        topics: frozenset[str],
        on_revoked: Callable[[frozenset[Partition]], None],
    ) -> None:
        self.topics = topics
        self._log = log
        self._group = group
        self._on_revoked = on_revoked
        self._positions: dict[Partition, int] = {}

    @property
    def assignment(self) -> frozenset[Partition]:
        """The partitions that this member reads at present."""
        return frozenset(self._positions)

    def assign(self, partition: Partition, offset: int) -> None:
        """Take a partition over, to be read from an offset on."""
        self._positions[partition] = offset

    def revoke(self) -> None:
        """Give every partition up."""
        if self._positions:
            lost, self._positions = frozenset(self._positions), {}
            self._on_revoked(lost)

    async def poll(self, *, max_records: int = 500, timeout_s: float = 1.0) -> list[Record]:
        """Return the next records, in order within each partition; empty when there are none."""
        await _let_others_run()
        polled: list[Record] = []
        for partition, position in self._positions.items():
            records = self._log.read(partition, position)[: max_records - len(polled)]
            polled += records
            self._positions[partition] = position + len(records)
        return polled

    async def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Store the next offset to read for each partition.

        Raises:
            PartitionLost: when a partition belongs to another member.
        """
        if foreign := sorted(set(offsets) - set(self._positions)):
            raise PartitionLost(f"expected to own the partitions, got {foreign} which belong to another member")
        self._group.committed |= offsets

    async def lag(self) -> dict[Partition, int]:
        """Return records yet to read by partition."""
        return {partition: len(self._log.read(partition, at)) for partition, at in self._positions.items()}

    async def close(self) -> None:
        """Leave the group; the others take over."""
        self._group.members.remove(self)
        self.revoke()
        self._log.share(self._group)


class LocalJournal:
    """A `Journal` on a `LocalLog`."""

    def __init__(self, log: LocalLog, topic: str) -> None:
        self._log = log
        self._topic = topic

    async def entries(self, partition: int) -> dict[str, bytes]:
        """Return the newest value of every key of the journal's partition."""
        return newest_by_key(self._log.read(Partition(self._topic, partition), 0))

    async def put(self, partition: int, entries: Mapping[str, bytes | None]) -> None:
        """Append entries."""
        for key, value in entries.items():
            self._log.append_to(Partition(self._topic, partition), key.encode(), value, {})

    async def history(self, partition: Partition, first: int, last: int) -> list[Record]:
        """Return the records from `first` to `last`, both included."""
        return [record for record in self._log.read(partition, first) if record.offset <= last]


@types.coroutine
def _let_others_run() -> Generator[None]:
    """Yield to the event loop once, so that a polling loop on an empty log starves nobody."""
    yield
