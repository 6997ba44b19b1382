"""Turns of work while an adapter reads them, and the events that they become."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from producers import identity
from producers.calls import Seat, called
from producers.observed import Observed
from producers.prompts import MAX_NAMED, named_targets, shown_prompt
from producers.redact import clean, redact_text
from producers.translation import FileCounts
from streams.events import (
    AgentId,
    InvocationEnded,
    InvocationId,
    InvocationStarted,
    SessionId,
    Source,
    ToolEvent,
    Usage,
)

Reason = Literal["stop", "interrupted", "next_prompt", "end_of_source", "session_end"]
Trigger = Literal["prompt", "agent", "resume", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Whose turns they are."""

    adapter: str
    runtime: str
    session_id: str
    root_session_id: str = ""
    """First session of the lineage; empty when the session is its own."""


@dataclass(slots=True, kw_only=True)
class Turn:
    """One invocation: from a prompt to the next."""

    invocation_id: InvocationId
    uri: str
    line: int
    at: datetime
    last_at: datetime
    prompt: str = ""
    trigger: Trigger = "prompt"
    agent_id: str
    cwd: str = ""
    epoch: int = 0
    model: str = ""
    named: list[str] = field(default_factory=list)
    """Files put into the context beside those that the prompt names."""
    calls: list[tuple[Observed, str, str]] = field(default_factory=list)
    """Call, agent id, and the file it stands in."""
    usage: Usage | None = None
    reason: Reason = "end_of_source"
    session_id: str = ""
    """What this turn's own lines say; used where the home does not know."""
    order: Counter[str] = field(default_factory=Counter)
    """Calls so far by agent."""

    def add(self, seen: Observed, *, agent: str, uri: str) -> None:
        """Take in a call; its place in the order of its agent's calls is given here."""
        seen.turn_index = self.order[agent]
        self.order[agent] += 1
        self.calls.append((seen, agent, uri))
        self.last_at = max(self.last_at, seen.at)


def turn_events(turn: Turn, home: Home) -> list[ToolEvent]:
    """Return a turn's events: start, calls in the source's order, end."""
    session_id = home.session_id or turn.session_id
    root = home.root_session_id or session_id
    events: list[ToolEvent] = [_started(turn, home, session_id, root)]
    for seen, agent, uri in turn.calls:
        seat = Seat(
            adapter=home.adapter,
            runtime=home.runtime,
            uri=uri,
            agent_id=agent,
            invocation_id=turn.invocation_id,
            session_id=session_id,
            root_session_id=root,
        )
        events.append(called(seen, seat))
    events.append(_ended(turn, home, session_id, root))
    return events


def _started(turn: Turn, home: Home, session_id: str, root: str) -> InvocationStarted:
    names = dict.fromkeys([*named_targets(turn.prompt), *turn.named])
    return InvocationStarted(
        event_id=identity.event_id("started", home.runtime, home.adapter, turn.invocation_id),
        occurred_at=turn.at,
        agent_id=AgentId(turn.agent_id),
        runtime=home.runtime,
        source=Source(adapter=home.adapter, uri=turn.uri, position=turn.line),
        invocation_id=turn.invocation_id,
        session_id=SessionId(session_id),
        root_session_id=SessionId(root),
        thread_id=session_id,
        trigger=turn.trigger,
        prompt=shown_prompt(turn.prompt),
        named_targets=tuple(redact_text(clean(name)) for name in names)[:MAX_NAMED],
        cwd=turn.cwd,
        context_epoch=turn.epoch,
        model=turn.model,
    )


def _ended(turn: Turn, home: Home, session_id: str, root: str) -> InvocationEnded:
    what = (turn.invocation_id, turn.last_at.isoformat(), turn.reason, str(len(turn.calls)))
    return InvocationEnded(
        event_id=identity.event_id("ended", home.runtime, home.adapter, *what),
        occurred_at=turn.last_at,
        agent_id=AgentId(turn.agent_id),
        runtime=home.runtime,
        source=Source(adapter=home.adapter, uri=turn.uri, position=turn.line),
        invocation_id=turn.invocation_id,
        session_id=SessionId(session_id),
        root_session_id=SessionId(root),
        thread_id=session_id,
        reason=turn.reason,
        usage=turn.usage,
        calls=len(turn.calls),
    )


@dataclass(slots=True)
class Tally:
    """What an adapter read in one file."""

    records: int = 0
    calls: list[Observed] = field(default_factory=list)
    results: int = 0
    errors: int = 0
    repeated: int = 0
    tokens_output: int | None = None
    skipped: Counter[str] = field(default_factory=Counter)

    def spend(self, output: int) -> None:
        """Add tokens that the model wrote."""
        self.tokens_output = output + (self.tokens_output or 0)

    def counts(self) -> FileCounts:
        """Return what was read."""
        return FileCounts(
            records=self.records,
            calls=len(self.calls),
            results=self.results,
            errors=self.errors,
            pending=sum(seen.text is None and seen.status is None for seen in self.calls),
            repeated=self.repeated,
            tokens_output=self.tokens_output,
            skipped=dict(self.skipped),
        )


class TurnBook:
    """The turns of one file, for adapters that read it in one go."""

    def __init__(self, uri: str, runtime: str, *, agent: str = "") -> None:
        self.uri, self.runtime, self.agent = uri, runtime, agent or runtime
        self.turns: list[Turn] = []
        self.tally = Tally()
        self.epoch = 0
        self.cwd = ""

    def begin(self, *own: str, at: datetime, line: int, prompt: str = "", model: str = "") -> Turn:
        """Begin the turn that these parts name; the one before it ends."""
        if self.turns and self.turns[-1].reason == "end_of_source":
            self.turns[-1].reason = "next_prompt"
        turn = Turn(
            invocation_id=identity.invocation_id(self.runtime, *own),
            uri=self.uri,
            line=line,
            at=at,
            last_at=at,
            prompt=prompt,
            trigger="prompt" if prompt else "unknown",
            agent_id=self.agent,
            cwd=self.cwd,
            epoch=self.epoch,
            model=model,
        )
        self.turns.append(turn)
        return turn

    def call(self, seen: Observed) -> Observed:
        """Take in a call of the turn that is open; there must be one."""
        seen.cwd, seen.epoch = seen.cwd or self.cwd, self.epoch
        self.turns[-1].add(seen, agent=self.agent, uri=self.uri)
        self.tally.calls.append(seen)
        return seen

    def finish(self, seen: Observed, shown: str, at: datetime | None, *, failed: bool = False) -> None:
        """Fill in what came of a call."""
        self.tally.results += seen.text is None
        self.tally.errors += seen.text is None and failed
        seen.text, seen.is_error = shown, failed
        if at is not None:
            seen.ended_at = at
            self.turns[-1].last_at = max(self.turns[-1].last_at, at)

    def spend(self, usage: Usage) -> None:
        """Add a message's usage to the open turn."""
        known = self.turns[-1].usage or Usage(input_uncached=0, input_cached=0, cache_write=0, output=0)
        self.turns[-1].usage = Usage(
            input_uncached=(known.input_uncached or 0) + (usage.input_uncached or 0),
            input_cached=(known.input_cached or 0) + (usage.input_cached or 0),
            cache_write=(known.cache_write or 0) + (usage.cache_write or 0),
            output=(known.output or 0) + (usage.output or 0),
            quality="native",
        )
        self.tally.spend(usage.output or 0)
