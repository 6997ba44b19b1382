"""What is to be forgotten, as SQL conditions on each table. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from streams.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What is to be forgotten: everything of one agent, thread or session, or all searches of one query."""

    agent: str | None = None
    """An agent and its subagents (`<agent>/...`)."""
    thread: str | None = None
    session: str | None = None
    """A session and those that were forked from it."""
    query_hash: str | None = None
    """sha256 of the query's text, in hex: the text itself need not be typed again to be forgotten."""

    def __post_init__(self) -> None:
        given = [value for value in (self.agent, self.thread, self.session, self.query_hash) if value]
        if len(given) != 1:
            raise ConfigError(f"expected exactly one of agent, thread, session, query hash, got {len(given)}")

    @property
    def kind(self) -> str:
        """Which of the four it is."""
        named = {"agent": self.agent, "thread": self.thread, "session": self.session, "query-hash": self.query_hash}
        return next(kind for kind, value in named.items() if value)

    @property
    def value(self) -> str:
        """The id, or the hash."""
        return self.agent or self.thread or self.session or self.query_hash or ""

    @property
    def fingerprint(self) -> str:
        """What a receipt may say of the value: a hash, never the value."""
        return self.value if self.query_hash else hashlib.sha256(self.value.encode()).hexdigest()


EVENT_TABLES = ("tool_events", "messages", "signals", "recall_events", "trajectories")


def condition(table: str, selection: Selection) -> str | None:
    """Return the SQL condition of the rows to be forgotten; null where a table holds none.

    Parameters: `$value`; for a query hash also `$calls` and `$recalls` (ids of the searches it named), and for dead
    letters `$needles` (texts in hex whose bytes must not stand in the letter).
    """
    if table == "dead_letters":
        return "list_bool_or([contains(hex(raw), n) OR contains(hex(coalesce(key, ''::BLOB)), n) FOR n IN $needles])"
    if table not in EVENT_TABLES:
        return None
    match selection.kind:
        case "agent":
            return "(agent_id = $value OR starts_with(agent_id, $value || '/'))"
        case "thread":
            return "thread_id = $value"
        case "session":
            return "(session_id = $value OR root_session_id = $value)"
    by_query = {
        "recall_events": "sha256(query) = $value",
        "tool_events": "tool_use_id IN (SELECT unnest($calls))",
        "trajectories": "list_has_any(recall_ids, $recalls)",
    }
    return by_query.get(table)
