"""Publishes events and dead letters to the log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from producers.lines import Problem
from producers.redact import redact_bytes
from streams import codec, deadletter
from streams.codec import LogEvent
from streams.deadletter import DeadLetter
from streams.events import MessagePosted, OutcomeSignalled
from streams.log import Emitter
from streams.topics import MESSAGES, SIGNALS, TOOL_EVENTS

MAX_RAW_BYTES = 512 * 1024
"""What is kept of a bad line: as base64 it fits a message, and a longer line is in its file."""


def route(event: LogEvent) -> tuple[str, str]:
    """Return topic and key of an event."""
    if isinstance(event, MessagePosted):
        return MESSAGES.name, event.thread_id
    if isinstance(event, OutcomeSignalled):
        return SIGNALS.name, event.thread_id
    return TOOL_EVENTS.name, event.root_session_id


class Publisher:
    """Writes events in messages of up to 100 of one root session, and what is no event to the dead letters."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    async def publish(self, events: Sequence[LogEvent]) -> int:
        """Append the events to their topics, in order within each session or thread; return the number of messages.

        Returns once the broker has acknowledged all of them. Publishing again is harmless: the ids are the same.

        Raises:
            BrokerUnavailable: when some message was not acknowledged; publish all of them again.
        """
        routes: dict[tuple[str, str], list[LogEvent]] = {}
        for event in events:
            routes.setdefault(route(event), []).append(event)
        topics: dict[str, list[tuple[str, bytes | None]]] = {}
        for (topic, key), own in routes.items():
            topics.setdefault(topic, []).extend((key, value) for value in codec.batches(own))
        for topic, messages in topics.items():
            await self._emitter.emit_all(topic, messages)
        return sum(len(messages) for messages in topics.values())

    async def dead_letter(self, problems: Iterable[Problem], *, adapter: str) -> int:
        """Append what could not be translated, with its bytes (without secrets), place and reason; return how many.

        Raises:
            BrokerUnavailable: as `publish`.
        """
        count = 0
        for problem in problems:
            letter = DeadLetter(
                stage="source",
                reason=problem.reason,
                topic=TOOL_EVENTS.name,
                line=problem.line,
                offset=problem.offset,
                raw=redact_bytes(problem.raw[:MAX_RAW_BYTES]),
                adapter=adapter,
                uri=problem.uri,
            )
            await self._emitter.emit(TOOL_EVENTS.dead, key=problem.uri, value=deadletter.encode(letter))
            count += 1
        return count

    async def close(self) -> None:
        """Flush and disconnect."""
        await self._emitter.close()
