"""Builders of events: every field has a default, times are seconds from one fixed instant."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from streams.events import (
    AgentId,
    EventId,
    InvocationEnded,
    InvocationId,
    InvocationStarted,
    SessionId,
    Source,
    ToolCalled,
    ToolUseId,
)
from streams.outcome import settle, target_of
from streams.recall import Candidate, RecallOutcome

T0 = datetime(2031, 4, 1, 9, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def event_id(*parts: object) -> EventId:
    return EventId(hashlib.sha256(repr(parts).encode()).hexdigest()[:32])


def identity(invocation: str, agent: str, seconds: float, *more: object, adapter: str = "native") -> dict[str, Any]:
    return {
        "event_id": event_id(invocation, agent, adapter, *more),
        "occurred_at": at(seconds),
        "agent_id": AgentId(agent),
        "runtime": "claude-code",
        "source": Source(adapter=adapter),
        "invocation_id": InvocationId(invocation),
        "session_id": SessionId("s1"),
        "root_session_id": SessionId("s1"),
    }


def a_call(
    tool: str,
    tool_input: dict[str, Any] | None = None,
    *,
    at_s: float = 0,
    use: str = "",
    agent: str = "a1",
    invocation: str = "v1",
    adapter: str = "native",
    **fields: Any,
) -> ToolCalled:
    use = use or f"{tool}-{agent}-{at_s}"
    return ToolCalled(
        **identity(invocation, agent, at_s, use, adapter=adapter),
        tool_use_id=ToolUseId(use),
        tool=tool,
        input=tool_input or {},
        **fields,
    )


def candidates(*shown: str | tuple[str, str]) -> tuple[Candidate, ...]:
    """Candidates of `path`s or of (anchor, path) pairs, in rank order."""
    pairs = [(each, each) if isinstance(each, str) else each for each in shown]
    return tuple(
        Candidate(anchor=anchor, rank=rank, target=target_of(anchor, path=path))
        for rank, (anchor, path) in enumerate(pairs, start=1)
    )


def outcome(shown: Sequence[Candidate], **fields: Any) -> RecallOutcome:
    status, count = settle(len(shown))
    return RecallOutcome(result_status=status, result_count=count, candidates=tuple(shown), **fields)


def a_search(
    *shown: str | tuple[str, str], query: str = "kiln", tool: str = "search_evidence", **fields: Any
) -> ToolCalled:
    surface = {"Grep": "code_search", "Glob": "code_search", "WebSearch": "web_search"}.get(tool, "memory")
    name = "pattern" if surface == "code_search" else "query"
    recall = outcome(candidates(*shown), surface=surface)
    return a_call(tool, {name: query}, recall=recall, **fields)


def a_read(path: str, **fields: Any) -> ToolCalled:
    return a_call("Read", {"file_path": path}, **fields)


def a_shell(command: str, **fields: Any) -> ToolCalled:
    return a_call("Bash", {"command": command}, **fields)


def a_start(*, at_s: float = 0, agent: str = "a1", invocation: str = "v1", **fields: Any) -> InvocationStarted:
    return InvocationStarted(**identity(invocation, agent, at_s, "start"), **fields)


def an_end(*, at_s: float = 0, agent: str = "a1", invocation: str = "v1", **fields: Any) -> InvocationEnded:
    return InvocationEnded(**identity(invocation, agent, at_s, "end", at_s), **fields)
