"""A session in a page: what was asked, searched, opened, changed, and how it ended. No model is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.threads.client import SessionEvent
from streams.events import InvocationEnded, InvocationStarted, ToolCalled, ToolStatus

MAX_LISTED = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What a session came to."""

    session_id: str
    started_at: datetime
    ended_at: datetime
    invocations: tuple[str, ...]
    prompts: tuple[str, ...]
    tools: tuple[tuple[str, int], ...]
    queries: tuple[str, ...]
    opened: tuple[str, ...]
    changed: tuple[str, ...]
    errors: int


def digest(session_id: str, events: Sequence[SessionEvent]) -> Digest:
    """Return the digest of a session's events, in their order.

    Raises:
        ValueError: when there are none.
    """
    if not events:
        raise ValueError(f"no session {session_id!r} has been recorded")
    calls = [event for event in events if isinstance(event, ToolCalled)]
    touched = [touch for call in calls for touch in call.touched]
    return Digest(
        session_id=session_id,
        started_at=events[0].occurred_at,
        ended_at=max(event.occurred_at for event in events),
        invocations=tuple(dict.fromkeys(str(event.invocation_id) for event in events)),
        prompts=tuple(e.prompt for e in events if isinstance(e, InvocationStarted) and e.prompt),
        tools=tuple(Counter(call.tool for call in calls).most_common()),
        queries=tuple(
            dict.fromkeys(call.recall.query for call in calls if call.recall is not None and call.recall.query)
        ),
        opened=tuple(dict.fromkeys(touch.path for touch in touched if touch.op in ("read", "fetch"))),
        changed=tuple(dict.fromkeys(touch.path for touch in touched if touch.op in ("write", "edit", "delete"))),
        errors=sum(1 for call in calls if call.status is not ToolStatus.OK),
    )


def digest_lines(found: Digest) -> list[str]:
    """Return a digest as text."""
    lines = [f"Session {found.session_id}: {found.started_at:%Y-%m-%d %H:%M} to {found.ended_at:%H:%M} UTC"]
    lines += [f"asked: {prompt[:200]}" for prompt in found.prompts[:MAX_LISTED]]
    if found.tools:
        lines.append("tools: " + ", ".join(f"{tool} {count}" for tool, count in found.tools))
    for name, values in (("searched", found.queries), ("opened", found.opened), ("changed", found.changed)):
        if values:
            more = f" and {len(values) - MAX_LISTED} more" if len(values) > MAX_LISTED else ""
            lines.append(f"{name}: " + "; ".join(values[:MAX_LISTED]) + more)
    if found.errors:
        lines.append(f"{found.errors} calls failed")
    lines.append("invocations: " + ", ".join(found.invocations[:MAX_LISTED]))
    return lines


def event_line(event: SessionEvent) -> str:
    """Return one event as a line."""
    at = f"{event.occurred_at:%H:%M:%S}"
    match event:
        case InvocationStarted():
            return f"{at} > {event.prompt[:300] or event.trigger} [{event.invocation_id}]"
        case InvocationEnded():
            return f"{at} < {event.reason}"
        case ToolCalled():
            failed = "" if event.status is ToolStatus.OK else f" ({event.status})"
            said = event.recall.query if event.recall is not None else _about(event)
            return f"{at} {event.tool}{failed}: {said}"


def _about(call: ToolCalled) -> str:
    if call.touched:
        return ", ".join(touch.path for touch in call.touched[:3])
    return next(
        (str(call.input[key])[:200] for key in ("command", "file_path", "pattern", "query") if key in call.input), ""
    )
