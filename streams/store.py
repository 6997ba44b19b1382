"""A worker's journal on Kafka: small entries beside the partition it reads, and reading that partition again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka import errors as kafka

from streams.client import Connection, partitions_of, translated
from streams.consumer import record_of
from streams.errors import BrokerUnavailable
from streams.log import Partition, Record, newest_by_key

_SILENCE_SECONDS = 10.0
"""A fetch that brings nothing new for so long, although more must be there, counts as the broker being away."""


class KafkaJournal:
    """A `Journal` on one topic. Connect with `async with KafkaJournal(connection, topic) as journal`."""

    def __init__(self, connection: Connection, topic: str) -> None:
        self._topic = topic
        self._options = connection.options() | {"client_id": "trodden-journal"}
        self._producer: AIOKafkaProducer | None = None
        self._reader: AIOKafkaConsumer | None = None
        self._reading = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._producer = AIOKafkaProducer(**self._options, acks="all")
        self._reader = AIOKafkaConsumer(
            **self._options,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=50,
            max_partition_fetch_bytes=8 * 1024 * 1024,
        )
        try:
            await self._producer.start()
            await self._reader.start()
        except (kafka.KafkaError, OSError) as error:
            await self.close()
            raise translated(error, "connecting the journal") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Flush and disconnect."""
        for client in (self._producer, self._reader):
            if client is not None:
                await client.stop()

    async def entries(self, partition: int) -> dict[str, bytes]:
        """Return the newest value of every key of the journal's partition; a tombstone removes its key.

        Raises:
            BrokerUnavailable: when the broker does not answer.
        """
        return newest_by_key(await self._read(TopicPartition(self._topic, partition), 0, None))

    async def put(self, partition: int, entries: Mapping[str, bytes | None]) -> None:
        """Append entries and return once all are acknowledged.

        Raises:
            BrokerUnavailable: when some entry was not acknowledged in time; all may be retried.
        """
        producer = _connected(self._producer)
        try:
            pending = [
                await producer.send(self._topic, value, key=key.encode(), partition=partition)
                for key, value in entries.items()
            ]
            await asyncio.gather(*pending)
        except (kafka.KafkaError, OSError) as error:
            raise translated(error, f"appending to {self._topic}") from error

    async def history(self, partition: Partition, first: int, last: int) -> list[Record]:
        """Return the records of any partition from `first` to `last`, both included, without those that expired.

        Raises:
            BrokerUnavailable: when the broker does not answer.
        """
        return await self._read(TopicPartition(partition.topic, partition.number), first, last)

    async def _read(self, tp: TopicPartition, first: int, last: int | None) -> list[Record]:
        """Read up to `last`, or to the end as the broker's fetches tell it: an offset list may tell too little."""
        reader = _connected(self._reader)
        async with self._reading:
            try:
                reader.assign([tp])
                start = (await reader.beginning_offsets([tp]))[tp]
                reader.seek(tp, max(first, start))
                return await self._read_on(reader, tp, last)
            except (kafka.KafkaError, OSError) as error:
                raise translated(error, f"reading {tp.topic}/{tp.partition} again") from error
            finally:
                reader.unsubscribe()

    async def _read_on(self, reader: AIOKafkaConsumer, tp: TopicPartition, last: int | None) -> list[Record]:
        loop = asyncio.get_running_loop()
        records: list[Record] = []
        heard = loop.time()
        while True:
            fetched = (await reader.getmany(tp, timeout_ms=100)).get(tp, [])
            records += [record_of(message) for message in fetched if last is None or message.offset <= last]
            position, end = await reader.position(tp), reader.highwater(tp)
            if end is not None and position >= (end if last is None else min(end, last + 1)):
                return records
            if fetched:
                heard = loop.time()
            elif loop.time() - heard > _SILENCE_SECONDS:
                raise BrokerUnavailable(f"expected {tp.topic}/{tp.partition} from offset {position}, got silence")


_Client = TypeVar("_Client")


def _connected(client: _Client | None) -> _Client:
    if client is None:
        raise ValueError("expected a connected journal: use `async with`")
    return client


class KafkaTable:
    """The newest value of every key of a compacted topic, followed while the context is open.

    Every reader holds all of it: there is no group. Entering returns once what stood on the topic is in.
    """

    def __init__(self, connection: Connection, topic: str) -> None:
        self._topic = topic
        self._connection = connection
        self._following: asyncio.Task[None] | None = None
        self.values: dict[str, bytes] = {}
        """Changes in place; `version` tells when."""
        self.version = 0

    async def __aenter__(self) -> Self:
        self._reader = AIOKafkaConsumer(
            **self._connection.options(), enable_auto_commit=False, auto_offset_reset="earliest", fetch_max_wait_ms=100
        )
        try:
            tps = await partitions_of(self._connection, [self._topic])
            await self._reader.start()
            self._reader.assign(tps)
            await self._reader.seek_to_beginning(*tps)
            while not await self._is_complete(tps):
                await self._take()
        except (kafka.KafkaError, OSError) as error:
            await self._reader.stop()
            raise translated(error, f"reading {self._topic}") from error
        except BaseException:
            await self._reader.stop()
            raise
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        await self._reader.stop()

    async def _is_complete(self, tps: Sequence[TopicPartition]) -> bool:
        ends = [self._reader.highwater(tp) for tp in tps]
        return all(
            [end is not None and await self._reader.position(tp) >= end for tp, end in zip(tps, ends, strict=True)]
        )

    async def _take(self) -> None:
        for messages in (await self._reader.getmany(timeout_ms=200)).values():
            for message in messages:
                key = (message.key or b"").decode()
                if message.value is None:
                    self.values.pop(key, None)
                else:
                    self.values[key] = message.value
                self.version += 1

    async def _follow(self) -> None:
        while True:
            try:
                await self._take()
            except (kafka.KafkaError, OSError):
                await asyncio.sleep(1.0)  # the broker is away; what is known stays known
