"""Appends to Kafka, at least once: a message counts when the broker has acknowledged it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from aiokafka import AIOKafkaProducer
from aiokafka import errors as kafka

from streams.client import Connection, translated
from streams.topics import MAX_MESSAGE_BYTES

_REQUEST_BYTES = 2 * MAX_MESSAGE_BYTES
"""Room for a full message with its key and headers."""


class KafkaEmitter:
    """An `Emitter` on Kafka. Connect with `async with KafkaEmitter(connection) as emitter`.

    Order within a partition is kept; a retry may repeat a message, which every reader of ours tolerates
    (ids are derived from content), so no idempotent producer is needed, and brokers without one serve as well.
    """

    def __init__(self, connection: Connection, *, client_id: str = "trodden", timeout_s: float = 30.0) -> None:
        self._options = connection.options() | {
            "client_id": client_id,
            "acks": "all",
            "linger_ms": 0,
            "max_request_size": _REQUEST_BYTES,
            "request_timeout_ms": int(timeout_s * 1000),
        }
        self._producer: AIOKafkaProducer | None = None

    async def start(self) -> None:
        """Connect.

        Raises:
            BrokerUnavailable: when no broker answers.
            ConfigError: when the broker refuses our credentials.
        """
        producer = AIOKafkaProducer(**self._options)
        try:
            await producer.start()
        except (kafka.KafkaError, OSError) as error:
            await producer.stop()
            raise translated(error, f"connecting to {self._options['bootstrap_servers']}") from error
        self._producer = producer

    async def emit(
        self, topic: str, *, key: str, value: bytes | None, headers: Mapping[str, bytes] | None = None
    ) -> tuple[int, int]:
        """Append one message and return its (partition, offset) once the broker has acknowledged it.

        Raises:
            BrokerUnavailable: when no broker acknowledged it in time; the message may be retried.
            ValueError: when the message is larger than a message may be.
        """
        metadata = await self._send(topic, key, value, headers)
        try:
            sent = await metadata
        except (kafka.KafkaError, OSError) as error:
            raise translated(error, f"appending to {topic}") from error
        return sent.partition, sent.offset

    async def emit_all(self, topic: str, messages: Sequence[tuple[str, bytes | None]]) -> None:
        """Append (key, value) messages in order and return once all are acknowledged.

        Raises:
            BrokerUnavailable: when some message was not acknowledged in time; all may be retried.
            ValueError: when a message is larger than a message may be; those before it may have been appended.
        """
        pending: list[asyncio.Future[Any]] = []
        try:
            for key, value in messages:
                pending.append(await self._send(topic, key, value, None))
        finally:
            for sent in pending:
                sent.add_done_callback(_heard)
        outcomes = await asyncio.gather(*pending, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise translated(outcome, f"appending to {topic}") from outcome

    async def close(self) -> None:
        """Flush and disconnect."""
        if self._producer is not None:
            producer, self._producer = self._producer, None
            await producer.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(
        self, topic: str, key: str, value: bytes | None, headers: Mapping[str, bytes] | None
    ) -> asyncio.Future[Any]:
        if self._producer is None:
            raise ValueError("expected a connected emitter: call start() or use `async with`")
        try:
            future: asyncio.Future[Any] = await self._producer.send(
                topic, value, key=key.encode(), headers=list((headers or {}).items())
            )
        except kafka.MessageSizeTooLargeError as error:
            raise ValueError(f"a message to {topic} holds at most {MAX_MESSAGE_BYTES} bytes: {error}") from error
        except (kafka.KafkaError, OSError) as error:
            raise translated(error, f"appending to {topic}") from error
        return future


def _heard(sent: asyncio.Future[Any]) -> None:
    """Take note of how a message fared, even when nobody waits for it because a later one was refused."""
    if not sent.cancelled():
        sent.exception()
