"""The log as the rest of the project sees it: records, an emitter and a consumer, whatever stands behind them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True, order=True)
class Partition:
    """One partition of one topic."""

    topic: str
    number: int


@dataclass(frozen=True, slots=True)
class Position:
    """How far a group has got in a partition."""

    committed: int
    """Next offset to read; the log's start where nothing was committed."""
    end: int

    @property
    def lag(self) -> int:
        """Records that are not committed yet."""
        return max(0, self.end - self.committed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One message as it stands on the log. A null value is a tombstone."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: datetime
    headers: Mapping[str, bytes] = field(default_factory=dict)


def newest_by_key(records: Iterable[Record]) -> dict[str, bytes]:
    """Return what compaction would leave of these records: the newest value of every key that is not withdrawn."""
    newest: dict[str, bytes] = {}
    for record in records:
        key = (record.key or b"").decode()
        if record.value is None:
            newest.pop(key, None)
        else:
            newest[key] = record.value
    return newest


class Emitter(Protocol):
    """Appends messages. `emit` returns once the broker has acknowledged the message."""

    async def emit(
        self, topic: str, *, key: str, value: bytes | None, headers: Mapping[str, bytes] | None = None
    ) -> tuple[int, int]:
        """Append one message and return its (partition, offset).

        Raises:
            BrokerUnavailable: when no broker acknowledged it in time; the message may be retried.
        """
        ...

    async def emit_all(self, topic: str, messages: Sequence[tuple[str, bytes | None]]) -> None:
        """Append (key, value) messages in order and return once all are acknowledged.

        Raises:
            BrokerUnavailable: when some message was not acknowledged in time; all may be retried.
        """
        ...

    async def close(self) -> None:
        """Flush and disconnect."""
        ...


class Consumer(Protocol):
    """Reads messages of its topics in offset order, as one member of a group."""

    @property
    def assignment(self) -> frozenset[Partition]:
        """The partitions that this member reads at present."""
        ...

    async def poll(self, *, max_records: int = 500, timeout_s: float = 1.0) -> list[Record]:
        """Return the next records, in order within each partition; empty when none came in time."""
        ...

    async def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Store the next offset to read for each partition. Never goes back on its own.

        Raises:
            PartitionLost: when a partition belongs to another member by now: drop its state, it is read again.
        """
        ...

    async def lag(self) -> Mapping[Partition, int]:
        """Return records yet to read by partition, for those that have been fetched from: no guess for the rest."""
        ...

    async def close(self) -> None:
        """Leave the group and disconnect."""
        ...


class Journal(Protocol):
    """A worker's memory on the log: entries by key in the partition it owns, and the records it has read before."""

    async def entries(self, partition: int) -> dict[str, bytes]:
        """Return the newest value of every key of the journal's partition; a tombstone removes its key."""
        ...

    async def put(self, partition: int, entries: Mapping[str, bytes | None]) -> None:
        """Append entries and return once all are acknowledged.

        Raises:
            BrokerUnavailable: when some entry was not acknowledged in time; all may be retried.
        """
        ...

    async def history(self, partition: Partition, first: int, last: int) -> list[Record]:
        """Return the records of any partition from `first` to `last`, both included, without those that expired."""
        ...
