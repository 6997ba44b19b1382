"""Reads conversations and sessions from the warehouse's landed events."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory.sources.messages import Message
from streams import codec
from streams.events import InvocationEnded, InvocationStarted, ToolCalled
from warehouse.store import Warehouse

SessionEvent = ToolCalled | InvocationStarted | InvocationEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadInfo:
    """One thread, as a list shows it."""

    thread_id: str
    messages: int
    first_at: datetime
    last_at: datetime
    authors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """One session of a chain."""

    session_id: str
    root_session_id: str
    agent_id: str
    runtime: str
    calls: int
    started_at: datetime
    ended_at: datetime


class Conversations:
    """Threads and sessions of one warehouse."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse

    def threads(self, limit: int = 20) -> list[ThreadInfo]:
        """Return the threads that were active last."""
        found = self._warehouse.sql(
            "SELECT thread_id, count(*) AS messages, min(occurred_at) AS first_at, max(occurred_at) AS last_at, "
            "list_sort(list_distinct(list(agent_id))) AS authors FROM messages WHERE thread_id <> '' "
            "GROUP BY thread_id ORDER BY last_at DESC, thread_id LIMIT $limit",
            {"limit": limit},
        )
        return [ThreadInfo(**{**row, "authors": tuple(row["authors"])}) for row in found]

    def messages(self, thread_id: str) -> list[Message]:
        """Return the messages of a thread, oldest first."""
        found = self._warehouse.sql(
            "SELECT message_id, agent_id, author_kind, text, occurred_at FROM messages WHERE thread_id = $thread "
            "ORDER BY occurred_at, message_id",
            {"thread": thread_id},
        )
        return [_message(row) for row in found]

    def chain(self, session_or_thread: str) -> list[SessionInfo]:
        """Return the sessions of a thread, or of the lineage of a session, oldest first."""
        found = self._warehouse.sql(
            "SELECT session_id, any_value(root_session_id) AS root_session_id, any_value(agent_id) AS agent_id, "
            "any_value(runtime) AS runtime, count(*) FILTER (WHERE kind = 'ToolCalled') AS calls, "
            "min(occurred_at) AS started_at, max(coalesce(ended_at, occurred_at)) AS ended_at FROM tool_events "
            "WHERE thread_id = $key OR root_session_id IN "
            "(SELECT root_session_id FROM tool_events WHERE session_id = $key OR root_session_id = $key) "
            "GROUP BY session_id ORDER BY started_at, session_id",
            {"key": session_or_thread},
        )
        return [SessionInfo(**row) for row in found]

    def session_events(self, session_id: str, *, after: int = 0, limit: int | None = None) -> list[SessionEvent]:
        """Return the events of a session in order, from the `after`-th on."""
        return self._events("session_id = $key", session_id, after, limit)

    def invocation_events(self, session_id: str, invocation_id: str) -> list[SessionEvent]:
        """Return the events of one invocation in order."""
        found = self._events("invocation_id = $key", invocation_id, 0, None)
        return [event for event in found if session_id in ("", event.session_id, event.root_session_id)]

    def _events(self, condition: str, key: str, after: int, limit: int | None) -> list[SessionEvent]:
        found = self._warehouse.sql(
            f"SELECT raw FROM tool_events WHERE {condition} ORDER BY occurred_at, turn_index NULLS FIRST, event_id "
            "LIMIT $limit OFFSET $after",
            {"key": key, "after": after, "limit": 1_000_000 if limit is None else limit},
        )
        return list(_decoded(row["raw"] for row in found))


def _message(row: dict[str, Any]) -> Message:
    is_person = row["author_kind"] == "operator"
    return Message(
        message_id=row["message_id"],
        content=row["text"],
        agent=None if is_person else row["agent_id"],
        at=row["occurred_at"],
    )


def _decoded(lines: Iterable[bytes]) -> Iterable[SessionEvent]:
    for line in lines:
        event = codec.decode_line(bytes(line))
        if isinstance(event, ToolCalled | InvocationStarted | InvocationEnded):
            yield event


def around(messages: Sequence[Message], message_id: str | None, before: int, after: int) -> list[Message]:
    """Return a window of a thread: around a message, or its newest part when none is named.

    Raises:
        ValueError: when the thread has no such message.
    """
    if message_id is None:
        return list(messages[-(before + after + 1) :])
    place = next((at for at, message in enumerate(messages) if message.message_id == message_id), None)
    if place is None:
        raise ValueError(f"the thread has no message {message_id!r}")
    return list(messages[max(0, place - before) : place + after + 1])
