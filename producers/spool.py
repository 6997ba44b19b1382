"""What a collector has taken in and not yet published: records of the spool, and the events that they hold.

A payload is kept as it came, with its time of receipt; it is translated when it is published, by the same adapters as
files are, many at a time, so that the two hooks of one call meet.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from producers.adapters import adapter_named
from producers.lines import Problem
from producers.records import mapping, text
from producers.translation import SourceFile
from streams.codec import LogEvent
from streams.events import InvocationEnded, InvocationStarted

MAX_BACKOFF_S = 30.0
FIRST_BACKOFF_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Spooled:
    """One payload, as it was received."""

    seq: int
    """Order of receipt."""
    adapter: str
    endpoint: str
    received_at: datetime
    body: bytes


@dataclass(frozen=True, slots=True)
class Drained:
    """What a run of payloads came to."""

    events: tuple[LogEvent, ...]
    problems: tuple[tuple[str, Problem], ...]
    """(adapter, problem)."""


def backoff_s(failures: int) -> float:
    """Return how long to wait after so many failures in a row: doubling, at most half a minute."""
    return float(min(FIRST_BACKOFF_S * 2 ** min(max(failures - 1, 0), 16), MAX_BACKOFF_S))


def translated(payloads: Sequence[Spooled]) -> Drained:
    """Return the events of these payloads. Hooks of one session are read together, in order of receipt."""
    groups: dict[tuple[str, str], list[Spooled]] = {}
    for payload in payloads:
        session = _session(payload.body) if payload.adapter.endswith("hooks") else str(payload.seq)
        groups.setdefault((payload.adapter, session), []).append(payload)
    events: list[LogEvent] = []
    problems: list[tuple[str, Problem]] = []
    for (name, _), group in groups.items():
        file = SourceFile(group[0].endpoint, _lines(group), group[-1].received_at)
        translation = adapter_named(name).translate([file])
        events += live(translation.events)
        problems += [(name, problem) for problem in translation.problems]
    return Drained(tuple(events), tuple(problems))


def live(events: Sequence[LogEvent]) -> list[LogEvent]:
    """Return what a part of a session may say while the rest is still to come.

    An invocation has not ended because these payloads have, nobody knows yet how many calls it will have, and its
    start is told by the payload that holds its prompt.
    """
    kept: list[LogEvent] = []
    for event in events:
        if isinstance(event, InvocationEnded):
            if event.reason not in ("end_of_source", "next_prompt"):
                kept.append(msgspec.structs.replace(event, calls=None))
        elif not isinstance(event, InvocationStarted) or event.prompt:
            kept.append(event)
    return kept


def _session(body: bytes) -> str:
    try:
        return text(mapping(json.loads(body)).get("session_id"))
    except (ValueError, RecursionError):
        return ""


def _lines(group: Sequence[Spooled]) -> bytes:
    """Hooks as lines with their times of receipt; anything else as it came. Nothing of it is still being written."""
    if not group[0].adapter.endswith("hooks"):
        return group[0].body + b"\n"
    return b"\n".join(_stamped(payload) for payload in group) + b"\n"


def _stamped(payload: Spooled) -> bytes:
    one_line = payload.body.replace(b"\r\n", b" ").replace(b"\n", b" ").strip()
    if not one_line.startswith(b"{") or one_line == b"{}":
        return one_line
    return b'{"received_at":"' + payload.received_at.isoformat().encode() + b'",' + one_line[1:]
