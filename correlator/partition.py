"""One partition of the tool events as a pure machine: records in, conclusions out, and how far may be committed.

What it emits is a function of the set of events of an invocation, never of their arrival, so that reading a
partition again, from wherever, ends in the same final conclusions. An offset may be committed when every event
below it is concluded and delivered, or when a marker says where its invocation began, so that it can be read again.

Markers: one small journal entry an invocation, written when it closed, and when it has been open for so long that it
would hold the commit back. They keep a closed invocation closed when its events come again, and tell where to read
when an event comes after the state is gone: that of a closed invocation, or of one that was parked because it was
silent for long and memory is bounded. An owner begins with the earlier one's recent ones; the others
stay parked.

The watermark is the largest event time seen, never more than `MAX_AHEAD` past the append time of its record. It
decides when a silent invocation is closed, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice

import msgspec

from correlator.decide import END_OF_TIME, decide, is_news
from correlator.documents import NO_DOCUMENTS, Documents
from correlator.invocation import Invocation, evolve
from correlator.window import DEFAULT_POLICY, CorrelatorPolicy
from streams.events import ToolEvent
from streams.recall import RecallEvent, TaskTrajectory

MAX_AHEAD = timedelta(minutes=5)
"""A clock that runs further ahead than this moves no watermark: it would close every other invocation at once."""

GROWTH = 1.25
"""An open invocation tells its trajectory again when it has grown by so much."""

MIN_TIME = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much the machine remembers."""

    closed_events: int = 50_000
    """Events of closed invocations kept for late ones to join without reading again; the oldest closed go first."""
    open_events: int = 50_000
    """Events of open invocations kept in memory; those that were silent longest are parked, to be read again."""
    held_messages: int = 2_000
    """An open invocation that began so many messages ago gets a marker instead of holding the commit back."""


class Marker(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the journal keeps of an invocation (key: invocation id)."""

    first: int
    """Offset of its first event."""
    last: int
    """Offset of its newest event when the marker was written; everything up to it is in."""
    open: bool = False
    watermark: datetime
    """Of the partition when it was written."""


@dataclass(slots=True)
class _Held:
    """An invocation in memory."""

    state: Invocation
    first: int
    """Offset of its first event."""
    last: int
    holds_from: int | None
    """Offset that it holds the commit at; null while a marker covers everything."""
    last_event: datetime
    watermark_then: datetime
    """The watermark when its last event came: idleness is counted from here, so that old sessions may be imported."""
    closed: bool = False
    sent: dict[str, RecallEvent] = field(default_factory=dict)
    """What has been emitted last, by recall id."""
    told_events: int = 0
    """How many events the trajectory that was emitted last rests on."""


@dataclass(frozen=True, slots=True)
class Conclusions:
    """What one flush has to deliver: first the conclusions, then the markers; then `PartitionCore.delivered`."""

    recalls: Sequence[RecallEvent]
    trajectories: Sequence[TaskTrajectory]
    markers: Mapping[str, Marker]
    failures: Sequence[Failure] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """An invocation that could not be concluded: a fault of ours, which must not stop the other invocations."""

    invocation_id: str
    first: int
    """Offset of its first event."""
    reason: str


class PartitionCore:
    """The state of one partition since its owner got it. Dropped whole when the partition moves."""

    def __init__(
        self,
        policy: CorrelatorPolicy = DEFAULT_POLICY,
        limits: Limits | None = None,
        markers: Mapping[str, Marker] | None = None,
    ) -> None:
        self._policy = policy
        self._limits = limits or Limits()
        self._markers = dict(markers or {})
        self._held: dict[str, _Held] = {}
        self._open: set[str] = set()
        self._closed: dict[str, None] = {}
        """In the order of closing."""
        self._dirty: set[str] = set()
        self._untold: set[str] = set()
        """Open invocations that have grown since their trajectory was emitted."""
        self._parked = {key: marker.watermark for key, marker in self._markers.items() if marker.open}
        """Open invocations that are not in memory, with the event time that their idleness counts from."""
        self._closed_events = 0
        self._next_offset = 0
        self._idle_looked_at = MIN_TIME
        self.watermark = max((marker.watermark for marker in self._markers.values()), default=MIN_TIME)
        """Event time that the partition has reached."""

    @property
    def open_invocations(self) -> int:
        """Invocations whose conclusions may still change without a late event."""
        return len(self._open) + len(self._parked)

    @property
    def frontier(self) -> int:
        """The next offset to read after a restart."""
        holding = (self._held[key].holds_from for key in self._open)
        return min((offset for offset in holding if offset is not None), default=self._next_offset)

    def left_open(self) -> dict[str, Marker]:
        """Return what an earlier owner left open and is likely to go on: restore it before feeding, in one pass.

        That is what began not long before the newest event that a marker tells of. The rest stays parked.
        """
        newest = max((self._markers[key].last for key in self._parked), default=0)
        recent = newest - 2 * self._limits.held_messages
        return {key: self._markers[key] for key in self._parked if self._markers[key].first >= recent}

    def overslept(self, *, silent_until: datetime | None = None, most: int = 100) -> dict[str, Marker]:
        """Return some of the parked invocations that have become idle: restore them before the next flush."""
        now = max(self.watermark, silent_until or MIN_TIME)
        due = (key for key, since in self._parked.items() if now - since >= self._policy.idle_timeout)
        return {key: self._markers[key] for key in islice(due, most)}

    def missing(self, offset: int, events: Iterable[ToolEvent]) -> dict[str, Marker]:
        """Return the invocations that late events belong to and whose state is gone: restore them before feeding."""
        keys = {event.invocation_id for event in events} - self._held.keys()
        markers = {key: self._markers[key] for key in keys if key in self._markers}
        return {key: marker for key, marker in markers.items() if offset > marker.last}

    def restore(self, key: str, marker: Marker, events: Iterable[ToolEvent]) -> None:
        """Take back an invocation from its events between `marker.first` and `marker.last`, as they were read again."""
        if key in self._held:
            return  # somebody else was faster, and has fed it since
        idle_since = self._parked.pop(key, self.watermark)
        state: Invocation | None = None
        for event in events:
            state = evolve(state, event)
        if state is None:
            del self._markers[key]  # the log has forgotten it: what still comes stands alone
            return
        held = _Held(state, marker.first, marker.last, None, state.last_event_at, idle_since, not marker.open)
        self._held[key] = held
        if marker.open:
            self._open.add(key)
            self._dirty.add(key)
        else:
            self._keep(key, held)

    def feed(self, offset: int, events: Iterable[ToolEvent], appended_at: datetime) -> None:
        """Take the events of one record in; offsets rise."""
        self._next_offset = offset + 1
        newest = self.watermark
        for event in events:
            self._take(offset, event)
            newest = max(newest, event.occurred_at)
        self.watermark = max(self.watermark, min(newest, appended_at + MAX_AHEAD))

    def _take(self, offset: int, event: ToolEvent) -> None:
        key = event.invocation_id
        held = self._held.get(key)
        if held is None:
            if key in self._markers and offset <= self._markers[key].last:
                return  # concluded by an earlier owner, with this event
            state = evolve(None, event)
            self._held[key] = _Held(state, offset, offset, offset, event.occurred_at, self.watermark)
        else:
            state = evolve(held.state, event)
            if state is held.state:
                return  # a duplicate changes nothing
            self._add(key, held, state, offset, event.occurred_at)
        self._open.add(key)
        self._dirty.add(key)

    def _add(self, key: str, held: _Held, state: Invocation, offset: int, at: datetime) -> None:
        if key in self._closed:
            del self._closed[key]
            self._closed_events -= held.state.events
        held.closed = False
        held.state, held.last = state, max(held.last, offset)
        held.holds_from = offset if held.holds_from is None else held.holds_from
        held.last_event = max(held.last_event, at)
        held.watermark_then = max(held.watermark_then, self.watermark)

    def flush(
        self, *, silent_until: datetime | None = None, quiet: bool = False, documents: Documents = NO_DOCUMENTS
    ) -> Conclusions:
        """Conclude what changed since the last flush, and what has become idle.

        `silent_until` is the present when the partition has been read to its end and stays silent; the watermark
        moves on to it, so that the last invocations close without a later event. `quiet` says that nothing came for a
        moment: then every open invocation gets its marker, and all that was read may be committed. `documents` are
        those indexed as far as is known now: a read of one that no search had shown is consumed outside the pool.
        """
        if silent_until is not None:
            self.watermark = max(self.watermark, silent_until)
        dirty = self._dirty | self._idle() | (self._untold if quiet else set())
        self._dirty = set()
        recalls: list[RecallEvent] = []
        trajectories: list[TaskTrajectory] = []
        failures: list[Failure] = []
        for key in sorted(dirty, key=lambda key: self._held[key].first):
            held = self._held[key]
            try:
                trajectories += self._conclude(key, held, documents, recalls, quiet=quiet)
            except Exception as error:  # whatever it is: reported, and the invocation is let go
                failures.append(Failure(key, held.first, f"{type(error).__name__}: {error}"))
                held.closed = True
        marked = {key for key in dirty if self._held[key].closed} | self._overdue(
            0 if quiet else self._limits.held_messages
        )
        markers = {key: self._marker(self._held[key]) for key in marked}
        return Conclusions(recalls, trajectories, markers, failures)

    def delivered(self, conclusions: Conclusions) -> None:
        """Learn that the broker has acknowledged conclusions and markers: what they cover holds the commit no more."""
        for key, marker in conclusions.markers.items():
            self._markers[key] = marker
            held = self._held[key]
            if held.last > marker.last:
                held.holds_from = max(held.holds_from or 0, marker.last + 1)
            else:
                held.holds_from = None
            if not marker.open and key not in self._dirty:
                self._open.discard(key)
                self._keep(key, held)
        self._forget_oldest()
        self._park_oldest()

    def _keep(self, key: str, held: _Held) -> None:
        """Keep a closed invocation for late events."""
        held.state.rest()
        self._closed[key] = None
        self._closed_events += held.state.events

    def _forget_oldest(self) -> None:
        """Drop the oldest closed invocations beyond the limit; never between a restore and the feed it is for."""
        while self._closed_events > self._limits.closed_events:
            oldest = next(iter(self._closed))
            del self._closed[oldest]
            self._closed_events -= self._held.pop(oldest).state.events

    def _park_oldest(self) -> None:
        """Drop open invocations beyond the limit that have their marker, a fifth at a time."""
        excess = sum(self._held[key].state.events for key in self._open) - self._limits.open_events
        if excess <= 0:
            return
        excess += self._limits.open_events // 5
        for key in sorted(self._open - self._dirty, key=lambda key: self._held[key].last):
            held = self._held[key]
            if excess > 0 and held.holds_from is None:
                self._parked[key] = max(held.last_event, held.watermark_then)
                self._open.discard(key)
                self._untold.discard(key)
                del self._held[key]
                excess -= held.state.events

    def _overdue(self, messages: int) -> set[str]:
        """Return the open invocations that hold the commit back by more than so many messages."""
        horizon = self._next_offset - messages
        if self.frontier >= horizon:
            return set()
        holding = {key: self._held[key].holds_from for key in self._open}
        return {key for key, offset in holding.items() if offset is not None and offset < horizon}

    def _marker(self, held: _Held) -> Marker:
        return Marker(first=held.first, last=held.last, open=not held.closed, watermark=self.watermark)

    def _idle(self) -> set[str]:
        """Return the open invocations that nobody has continued; looked for when the watermark has moved enough."""
        if self.watermark - self._idle_looked_at < self._policy.idle_timeout / 100:
            return set()
        self._idle_looked_at = self.watermark
        return {key for key in self._open if self._is_idle(self._held[key])}

    def _is_idle(self, held: _Held) -> bool:
        return self.watermark - max(held.last_event, held.watermark_then) >= self._policy.idle_timeout

    def _conclude(
        self, key: str, held: _Held, documents: Documents, recalls: list[RecallEvent], *, quiet: bool
    ) -> list[TaskTrajectory]:
        """Add the news of one invocation, and return its trajectory where that is due.

        A trajectory holds every call: one after each call would come to the square of their number, so an open
        invocation tells it after a quarter of growth, and when its partition has become quiet.
        """
        now = END_OF_TIME if self._is_idle(held) else held.last_event
        decisions = decide(held.state, now, policy=self._policy, documents=documents)
        held.closed = decisions.closed
        news = [recall for recall in decisions.recalls if is_news(held.sent.get(recall.recall_id), recall)]
        held.sent |= {recall.recall_id: recall for recall in news}
        recalls += news
        if not held.closed and not quiet and held.state.events < GROWTH * held.told_events:
            self._untold.add(key)
            return []
        self._untold.discard(key)
        held.told_events = held.state.events
        trajectory = decisions.trajectory
        return [] if trajectory is None else [trajectory]
