"""A made-up recording of the tool-event log: interleaved invocations, duplicates, disorder, late and missing ends."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from streams.codec import batches
from streams.events import (
    AgentId,
    EventId,
    InvocationEnded,
    InvocationId,
    InvocationStarted,
    SessionId,
    Source,
    ToolCalled,
    ToolEvent,
    ToolUseId,
)
from streams.recall import Candidate, DocRef, RecallOutcome, ResultStatus

START = datetime(2026, 3, 1, tzinfo=UTC)
DOCUMENTS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a recording looks like."""

    invocations: int = 2000
    calls: int = 98
    """Tool calls of an invocation; with its start and end 100 events."""
    sessions: int = 200
    candidates: int = 10
    parallel: int = 40
    """Invocations that run at the same time."""
    duplicates: float = 0.01
    out_of_order: float = 0.05
    """Share of events that arrive up to a minute of event time late."""
    late: float = 0.001
    """Share of events that arrive long after their invocation has ended."""
    endless: float = 0.05
    """Share of invocations that never say that they ended."""


def recording(shape: Shape, seed: int) -> list[ToolEvent]:
    """Return the events in the order they arrive; the same for the same seed."""
    rng = random.Random(seed)
    arrivals: list[tuple[float, int, ToolEvent]] = []
    for number in range(shape.invocations):
        begins = number * 3.0 * shape.calls / shape.parallel
        for event in invocation(number, begins, shape, rng):
            at = (event.occurred_at - START).total_seconds() + _delay(shape, rng)
            arrivals.append((at, len(arrivals), event))
            if rng.random() < shape.duplicates:
                arrivals.append((at + rng.uniform(0, 120), len(arrivals), event))
    arrivals.sort(key=lambda arrival: arrival[:2])
    return [event for _, _, event in arrivals]


def ticks(shape: Shape, days: int) -> list[ToolEvent]:
    """Return one event a session so many days later, so that event time closes whatever never ended."""
    at_s = shape.invocations * 3.0 * shape.calls + days * 86_400
    return [
        InvocationEnded(
            **_identity(session, shape, f"tick-{session}-{days}", at_s)
            | {"invocation_id": InvocationId(f"tick-{session}-{days}")}
        )
        for session in range(shape.sessions)
    ]


def _delay(shape: Shape, rng: random.Random) -> float:
    if rng.random() < shape.late:
        return rng.uniform(300, 3000)
    return rng.uniform(0, 60) if rng.random() < shape.out_of_order else 0.0


def invocation(number: int, begins_s: float, shape: Shape, rng: random.Random) -> Iterator[ToolEvent]:
    """Yield the events of one invocation in event time: every seventh call a search, half of the rest read a hit."""
    at = begins_s
    yield InvocationStarted(**_identity(number, shape, "start", at), prompt=f"task {number}")
    shown: Sequence[Candidate] = ()
    for call in range(shape.calls):
        at += rng.uniform(0.5, 5.5)
        identity = _identity(number, shape, f"c{call}", at)
        use = ToolUseId(f"i{number}-c{call}")
        if call % 7 == 0:
            shown = _shown(rng, shape.candidates)
            yield ToolCalled(
                **identity,
                tool_use_id=use,
                tool="search_evidence",
                tool_raw="mcp__trodden__search_evidence",
                input={"query": f"how does part {rng.randrange(50)} work", "limit": shape.candidates},
                recall=RecallOutcome(
                    result_status=ResultStatus.COUNTED, result_count=len(shown), query="how", candidates=tuple(shown)
                ),
                ended_at=identity["occurred_at"] + timedelta(milliseconds=80),
            )
        else:
            hit = rng.choice(shown).target if rng.random() < 0.5 else DocRef(path=f"src/{rng.randrange(900)}.py")
            path = hit.path if isinstance(hit, DocRef) else ""
            tool = "Edit" if rng.random() < 0.1 else "Read"
            yield ToolCalled(**identity, tool_use_id=use, tool=tool, input={"file_path": path}, cwd="/srv/project")
    if rng.random() >= shape.endless:
        yield InvocationEnded(**_identity(number, shape, "end", at + 1), calls=shape.calls)


def _shown(rng: random.Random, count: int) -> list[Candidate]:
    return [
        Candidate(
            anchor=f"doc:docs/guide-{number}",
            rank=rank,
            target=DocRef(path=f"docs/guide-{number}.md", anchor=f"doc:docs/guide-{number}"),
            doc_kind="feature",
            title=f"How part {number} of the machine is built and why it was built so",
        )
        for rank, number in enumerate(rng.sample(range(DOCUMENTS), count), start=1)
    ]


def _identity(number: int, shape: Shape, part: str, at_s: float) -> dict[str, Any]:
    session = SessionId(f"session-{number % shape.sessions}")
    return {
        "event_id": EventId(hashlib.sha256(f"{number}/{part}".encode()).hexdigest()[:32]),
        "occurred_at": START + timedelta(seconds=at_s),
        "agent_id": AgentId(f"agent-{number % 7}"),
        "runtime": "claude-code",
        "source": Source(adapter="bench", uri=f"session-{number % shape.sessions}.jsonl", position=number),
        "invocation_id": InvocationId(f"invocation-{number}"),
        "session_id": session,
        "root_session_id": session,
    }


def messages(events: Sequence[ToolEvent], *, batch: int) -> Iterator[tuple[str, bytes]]:
    """Yield (key, value) messages in arrival order: a session's events wait until `batch` of them are together."""
    waiting: dict[str, list[ToolEvent]] = {}
    for event in events:
        group = waiting.setdefault(event.root_session_id, [])
        group.append(event)
        if len(group) == batch:
            for value in batches(group):
                yield event.root_session_id, value
            group.clear()
    for session, group in waiting.items():
        for value in batches(group):
            yield session, value
