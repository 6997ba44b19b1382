"""Which events of a translation go to the log: each invocation once, to the session that it first happened in.

A resumed or forked session copies its parent's history into a new file. The copied calls keep their ids, so that the
first owner of a call id owns it for good; what follows them in the copy belongs to the owner's lineage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from producers import identity
from streams.codec import LogEvent
from streams.events import InvocationEnded, InvocationId, InvocationStarted, SessionId, ToolCalled


@dataclass(frozen=True, slots=True)
class Owner:
    """Where a call was first seen."""

    invocation_id: str
    session_id: str
    root_session_id: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What to publish of one lineage."""

    events: tuple[LogEvent, ...]
    """Every event of each invocation of which something is new, so that a reader with an empty memory sees it whole."""
    fresh: frozenset[str]
    """Ids of those that were never published."""
    repeated: int
    """Calls that another session owns."""


def call_key(event: ToolCalled) -> str:
    """Return what names a call in every copy and every source of it."""
    scope, _ = identity.call_scope(event.tool_use_id, event.session_id)
    return f"{event.runtime}|{scope}|{event.tool_use_id}"


def plan(events: Sequence[LogEvent], *, published: frozenset[str], owners: Mapping[str, Owner]) -> Plan:
    """Return what of these events to publish.

    Args:
        events: One lineage's events, by invocation.
        published: Ids of those of them that stand on the log already.
        owners: Call key -> owner, of those calls that stand on the log already.
    """
    root = _root(events, owners)
    copies = {event.event_id for event in events if isinstance(event, ToolCalled) and _is_copy(event, owners)}
    kept: list[LogEvent] = []
    fresh: set[str] = set()
    for own in _by_invocation(events).values():
        rest = [event for event in own if event.event_id not in copies]
        inherited = len(rest) < len(own)
        if inherited or (copies and _begun_elsewhere(own, published, owners)):
            rest = _continued(rest, published)
        new = {event.event_id for event in rest} - published
        if new:
            kept += [_rooted(event, root) for event in rest]
            fresh |= new
    return Plan(tuple(kept), frozenset(fresh), len(copies))


def _is_copy(event: ToolCalled, owners: Mapping[str, Owner]) -> bool:
    owner = owners.get(call_key(event))
    return owner is not None and not _owns(owner, event)


def _owns(owner: Owner, event: ToolCalled) -> bool:
    return (owner.invocation_id, owner.session_id) == (event.invocation_id, event.session_id)


def _begun_elsewhere(own: Sequence[LogEvent], published: frozenset[str], owners: Mapping[str, Owner]) -> bool:
    """Its start stands on the log, and none of its calls is this session's: a prompt that was copied."""
    if any(isinstance(event, ToolCalled) and call_key(event) in owners for event in own):
        return False
    return any(isinstance(event, InvocationStarted) and event.event_id in published for event in own)


def _continued(rest: Sequence[LogEvent], published: frozenset[str]) -> list[LogEvent]:
    """What a copy adds to an invocation that began elsewhere: its own calls, and an end only after such a call."""
    calls = [event for event in rest if isinstance(event, ToolCalled) and event.event_id not in published]
    ends = [event for event in rest if isinstance(event, InvocationEnded)]
    return [*calls, *(msgspec.structs.replace(event, calls=None) for event in ends)] if calls else []


def _root(events: Sequence[LogEvent], owners: Mapping[str, Owner]) -> str | None:
    """The lineage's first session: the root of whoever owns the first call that was copied."""
    for event in events:
        owner = owners.get(call_key(event)) if isinstance(event, ToolCalled) else None
        if owner is not None:
            return owner.root_session_id
    return None


def _rooted(event: LogEvent, root: str | None) -> LogEvent:
    if root is None or event.root_session_id == root:
        return event
    return msgspec.structs.replace(event, root_session_id=SessionId(root))


def _by_invocation(events: Sequence[LogEvent]) -> dict[InvocationId, list[LogEvent]]:
    grouped: dict[InvocationId, list[LogEvent]] = {}
    for event in events:
        grouped.setdefault(event.invocation_id, []).append(event)
    return grouped
