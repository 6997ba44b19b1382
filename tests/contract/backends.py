"""The backends of the contract suite behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from streams.client import Connection
from streams.consumer import KafkaConsumer
from streams.emitter import KafkaEmitter
from streams.log import Consumer, Emitter, Partition, Record
from streams.testing import LocalLog

OnRevoked = Callable[[frozenset[Partition]], None]


class Backend(Protocol):
    """Makes emitters and consumers of one broker."""

    async def emitter(self) -> Emitter:
        """Return a connected emitter."""
        ...

    async def consumer(self, topic: str, group: str, on_revoked: OnRevoked | None = None) -> Consumer:
        """Return a connected member of a group."""
        ...


@dataclass(slots=True)
class Local:
    """`LocalLog`."""

    log: LocalLog

    async def emitter(self) -> Emitter:
        return self.log.emitter()

    async def consumer(self, topic: str, group: str, on_revoked: OnRevoked | None = None) -> Consumer:
        return self.log.consumer([topic], group=group, on_revoked=on_revoked)


@dataclass(slots=True)
class Broker:
    """A real broker."""

    connection: Connection

    async def emitter(self) -> Emitter:
        emitter = KafkaEmitter(self.connection)
        await emitter.start()
        return emitter

    async def consumer(self, topic: str, group: str, on_revoked: OnRevoked | None = None) -> Consumer:
        consumer = KafkaConsumer(self.connection, [topic], group=group, on_revoked=on_revoked)
        await consumer.start()
        return consumer


async def read(consumer: Consumer, count: int, *, polls: int = 200) -> list[Record]:
    """Return at least `count` records, or what came within `polls` polls."""
    records: list[Record] = []
    for _ in range(polls):
        if len(records) >= count:
            break
        records += await consumer.poll(timeout_s=0.1)
    return records


def values(records: Iterable[Record]) -> list[bytes | None]:
    """Return the values alone."""
    return [record.value for record in records]
