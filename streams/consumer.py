"""Reads from Kafka as one member of a consumer group; what is not committed comes again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka import errors as kafka

from streams.client import Connection, translated
from streams.errors import PartitionLost
from streams.log import Partition, Record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

OnRevoked = Callable[[frozenset[Partition]], None]
"""Called before partitions may go to another member: forget what you hold of them."""


OnPolled = Callable[[Sequence[Record]], None]
"""Called after every poll, an empty one too: the reader makes progress."""


class KafkaConsumer:
    """A `Consumer` on Kafka. Connect with `async with KafkaConsumer(connection, topics, group=...) as consumer`.

    A new group starts at the earliest record. When partitions move, `on_revoked` is told first; whoever keeps
    them reads again from the committed offset.
    """

    def __init__(
        self,
        connection: Connection,
        topics: Iterable[str],
        *,
        group: str,
        on_revoked: OnRevoked | None = None,
        on_polled: OnPolled | None = None,
        client_id: str = "trodden",
    ) -> None:
        self._on_polled = on_polled or (lambda _: None)
        self._topics = tuple(topics)
        self._group = group
        self._listener = _Listener(on_revoked or (lambda _: None))
        session_ms = int(connection.session_timeout_s * 1000)
        self._options = connection.options() | {
            "client_id": client_id,
            "group_id": group,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "session_timeout_ms": session_ms,
            "rebalance_timeout_ms": session_ms,
            "heartbeat_interval_ms": min(1000, session_ms // 3),
            "fetch_max_wait_ms": 100,
            "max_partition_fetch_bytes": 4 * 1024 * 1024,
            "metadata_max_age_ms": 30_000,
        }
        self._consumer: AIOKafkaConsumer | None = None

    async def start(self) -> None:
        """Connect and ask to join the group.

        Raises:
            BrokerUnavailable: when no broker answers.
            ConfigError: when the broker refuses our credentials.
        """
        consumer = AIOKafkaConsumer(**self._options)
        consumer.subscribe(self._topics, listener=self._listener)
        try:
            await consumer.start()
        except (kafka.KafkaError, OSError) as error:
            await consumer.stop()
            raise translated(error, f"joining group {self._group}") from error
        self._consumer = consumer

    async def poll(self, *, max_records: int = 500, timeout_s: float = 1.0) -> list[Record]:
        """Return the next records, in order within each partition; empty when none came in time.

        Raises:
            BrokerUnavailable: when the broker does not answer.
        """
        try:
            fetched = await self._connected.getmany(timeout_ms=int(timeout_s * 1000), max_records=max_records)
        except (kafka.KafkaError, OSError) as error:
            raise translated(error, f"reading {', '.join(self._topics)}") from error
        records = [record_of(message) for messages in fetched.values() for message in messages]
        self._on_polled(records)
        return records

    async def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Store the next offset to read for each partition. Never goes back on its own.

        Raises:
            PartitionLost: when a partition belongs to another member by now: drop its state, it is read again.
            BrokerUnavailable: when the broker does not answer.
        """
        if not offsets:
            return
        try:
            await self._connected.commit({TopicPartition(p.topic, p.number): offset for p, offset in offsets.items()})
        except (kafka.CommitFailedError, kafka.IllegalStateError) as error:
            raise PartitionLost(f"group {self._group}: expected to own {sorted(offsets)}, got {error}") from error
        except (kafka.KafkaError, OSError) as error:
            raise translated(error, f"committing as {self._group}") from error

    @property
    def assignment(self) -> frozenset[Partition]:
        """The partitions that this member reads at present."""
        return frozenset(Partition(tp.topic, tp.partition) for tp in self._connected.assignment())

    async def lag(self) -> dict[Partition, int]:
        """Return records yet to read by partition, for those that have been fetched from: no guess for the rest."""
        lag: dict[Partition, int] = {}
        for tp in self._connected.assignment():
            end = self._connected.highwater(tp)
            if end is not None:
                lag[Partition(tp.topic, tp.partition)] = max(0, end - await self._connected.position(tp))
        return lag

    async def close(self) -> None:
        """Leave the group and disconnect."""
        if self._consumer is not None:
            consumer, self._consumer = self._consumer, None
            await consumer.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def _connected(self) -> AIOKafkaConsumer:
        if self._consumer is None:
            raise ValueError("expected a connected consumer: call start() or use `async with`")
        return self._consumer


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka is untyped
    def __init__(self, on_revoked: OnRevoked) -> None:
        self._on_revoked = on_revoked

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        if lost := frozenset(Partition(tp.topic, tp.partition) for tp in revoked):
            self._on_revoked(lost)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        return None


def record_of(message: Any) -> Record:
    """Return the record of an aiokafka message."""
    return Record(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        key=message.key,
        value=message.value,
        timestamp=_EPOCH + timedelta(milliseconds=message.timestamp),
        headers=dict(message.headers),
    )
