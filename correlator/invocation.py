"""One invocation as the correlator holds it, and how an event changes it.

An `Invocation` is a value: the set of distinct events it was built from. Underneath, the values of one history share
a book that only grows, so that the next event costs the same however many there were. Evolving an older value copies.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from correlator.attribution import Attribution
from correlator.call import Call, OrderKey, facts_of
from correlator.documents import Documents
from correlator.identity import recall_id_of
from correlator.merge import merged
from correlator.window import CorrelatorPolicy
from streams.events import InvocationEnded, InvocationStarted, ToolCalled, ToolEvent


@dataclass(slots=True)
class Lane:
    """The calls of one agent in order, and how far they have been folded."""

    agent_id: str
    calls: list[Call] = field(default_factory=list)
    keys: list[OrderKey] = field(default_factory=list)
    attribution: Attribution | None = None
    folded: int = 0

    def add(self, call: Call) -> None:
        """Put a call in its place; one that comes late makes the fold begin again."""
        if not self.keys or call.key > self.keys[-1]:
            self.calls.append(call)
            self.keys.append(call.key)
            return
        at = bisect_left(self.keys, call.key)
        self.calls.insert(at, call)
        self.keys.insert(at, call.key)
        self._changed_at(at)

    def remove(self, call: Call) -> None:
        """Take a call out that a further observation has changed."""
        at = bisect_left(self.keys, call.key)
        del self.calls[at], self.keys[at]
        self._changed_at(at)

    def _changed_at(self, at: int) -> None:
        if at < self.folded:
            self.restart()

    def restart(self) -> None:
        """Forget the fold."""
        self.attribution, self.folded = None, 0

    def attributed(self, policy: CorrelatorPolicy, documents: Documents, named: Sequence[str]) -> Attribution:
        """Return the fold over all calls."""
        if self.attribution is None:
            self.attribution, self.folded = Attribution(policy.window, documents, named), 0
        for call in self.calls[self.folded :] if self.folded else self.calls:
            self.attribution.take(call, recall_id_of(call.event) if call.surface is not None else None)
        self.folded = len(self.calls)
        return self.attribution


@dataclass(slots=True)
class Book:
    """What all values of one history share; it only grows."""

    arrivals: list[ToolEvent] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    """Event id -> position among the arrivals."""
    calls: dict[str, Call] = field(default_factory=dict)
    observations: dict[str, list[ToolCalled]] = field(default_factory=dict)
    lanes: dict[str, Lane] = field(default_factory=dict)
    starts: list[InvocationStarted] = field(default_factory=list)
    ends: list[InvocationEnded] = field(default_factory=list)
    settings: tuple[CorrelatorPolicy, Documents] | None = None

    def add(self, event: ToolEvent) -> None:
        """Take a new event in."""
        self.seen[event.event_id] = len(self.arrivals)
        self.arrivals.append(event)
        if isinstance(event, ToolCalled):
            self._add_call(event)
        elif isinstance(event, InvocationStarted):
            self.starts.append(event)
            self.starts.sort(key=lambda start: (start.occurred_at, start.event_id))
            for lane in self.lanes.values():
                lane.restart()
        else:
            self.ends.append(event)

    def _add_call(self, event: ToolCalled) -> None:
        use = event.tool_use_id
        known = self.calls.get(use)
        if known is None:
            call = facts_of(event)
        else:
            together = self.observations.setdefault(use, [known.event])
            together.append(event)
            call = facts_of(merged(together), len(together))
            self.lanes[known.event.agent_id].remove(known)
        self.calls[use] = call
        agent = call.event.agent_id
        lane = self.lanes.get(agent)
        if lane is None:
            lane = self.lanes[agent] = Lane(agent)
        lane.add(call)

    def set(self, policy: CorrelatorPolicy, documents: Documents) -> None:
        """Fold anew when another policy or other documents are asked for."""
        if self.settings is not None and self.settings[0] == policy and self.settings[1] is documents:
            return
        self.settings = (policy, documents)
        for lane in self.lanes.values():
            lane.restart()

    @property
    def named_targets(self) -> tuple[str, ...]:
        """What the prompts of the invocation name."""
        return tuple(name for start in self.starts for name in start.named_targets)

    @property
    def end(self) -> InvocationEnded | None:
        """The latest end; an import that grew knows several."""
        return max(self.ends, key=lambda end: (end.occurred_at, end.event_id), default=None)

    @property
    def last_call_at(self) -> datetime | None:
        """Start of the last call of any agent."""
        return max((lane.keys[-1][0] for lane in self.lanes.values() if lane.keys), default=None)


class Invocation(msgspec.Struct, frozen=True):
    """The set of distinct events of one invocation."""

    _book: Book
    events: int
    """How many distinct events."""

    @property
    def book(self) -> Book:
        """The events, sorted and folded. Not to be changed from outside."""
        if self.events == len(self._book.arrivals):
            return self._book
        book = Book()
        for event in self._book.arrivals[: self.events]:
            book.add(event)
        return book

    def rest(self) -> None:
        """Let go of the fold, which is much of the memory: it is made again from the events when it is asked for."""
        for lane in self._book.lanes.values():
            lane.restart()

    @property
    def last_event_at(self) -> datetime:
        """Largest event time."""
        return max(event.occurred_at for event in self._book.arrivals[: self.events])


def evolve(state: Invocation | None, event: ToolEvent) -> Invocation:
    """Return the invocation with one more event; the same value when the event was known already.

    Commutative and idempotent over the events of one invocation. Costs the same for the next event of a long
    invocation as for that of a short one, as long as each value is evolved once.
    """
    if state is None:
        book = Book()
    elif state._book.seen.get(event.event_id, state.events) < state.events:
        return state
    else:
        book = state.book
    book.add(event)
    return Invocation(book, len(book.arrivals))
