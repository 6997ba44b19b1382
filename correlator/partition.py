"""One partition of the tool events as a pure machine: records in, conclusions out, and how far may be committed.

It holds the invocations that are still open and those that closed a short while ago. What it emits is a function
of the set of events of an invocation, never of their arrival, so that reading a partition again, from wherever,
ends in the same final conclusions. An offset may be committed when everything below it is concluded and delivered.

Times: the watermark is the largest event time seen, never more than `MAX_AHEAD` past the record's append time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import msgspec

from correlator.decide import END_OF_TIME, decide
from correlator.invocation import Invocation, evolve
from correlator.window import DEFAULT_POLICY
from streams.events import ToolEvent
from streams.recall import RecallEvent, TaskTrajectory

MAX_AHEAD = timedelta(minutes=5)
"""A clock that runs further ahead than this moves no watermark: it would close every other invocation at once."""

MIN_TIME = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How long the machine remembers."""

    idle: timedelta = timedelta(hours=24)
    """Event time without an event after which an invocation without an end is closed."""
    keep_closed: int = 20_000
    """Events of closed invocations that are kept for late ones to join; the oldest closed go first."""


@dataclass(slots=True)
class _Held:
    """An invocation in memory."""

    state: Invocation
    first_offset: int
    last_event: datetime
    watermark_then: datetime
    """The watermark when its last event came: idleness is counted from here, so that old sessions may be imported."""
    events: int = 0
    closed: bool = False
    sent: dict[str, RecallEvent] = field(default_factory=dict)
    """What has been emitted last, by recall id."""


@dataclass(frozen=True, slots=True)
class Conclusions:
    """What one flush has to deliver; afterwards `PartitionCore.delivered` is told."""

    recalls: Sequence[RecallEvent]
    trajectories: Sequence[TaskTrajectory]
    closed: frozenset[str]
    """Invocations that need no further reading once this is delivered."""


class PartitionCore:
    """The state of one partition since its owner got it. Dropped whole when the partition moves."""

    def __init__(self, bounds: Bounds = Bounds()) -> None:
        self._bounds = bounds
        self._policy = replace(DEFAULT_POLICY, idle_timeout=bounds.idle)
        self._held: dict[str, _Held] = {}
        self._open: set[str] = set()
        self._closed: dict[str, None] = {}
        self._dirty: set[str] = set()
        self._kept_events = 0
        self._idle_looked_at = MIN_TIME
        self._next_offset = 0
        self.watermark = MIN_TIME
        """Event time that the partition has reached."""

    @property
    def open_invocations(self) -> int:
        """Invocations whose conclusions may still change without a late event."""
        return len(self._open)

    @property
    def frontier(self) -> int:
        """The next offset to read after a restart: everything below it is concluded and delivered."""
        return min((self._held[key].first_offset for key in self._open), default=self._next_offset)

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
        state = evolve(held.state if held else None, event)
        if held is None:
            held = self._held[key] = _Held(state, offset, event.occurred_at, self.watermark)
        elif state is held.state:
            return  # seen before: a duplicate changes nothing
        elif held.closed:
            self._reopen(key, held, offset)
        held.state = state
        held.events += 1
        held.last_event = max(held.last_event, event.occurred_at)
        held.watermark_then = max(self.watermark, held.watermark_then)
        self._open.add(key)
        self._dirty.add(key)

    def _reopen(self, key: str, held: _Held, offset: int) -> None:
        held.closed = False
        if key in self._closed:
            del self._closed[key]
            self._kept_events -= held.events
            held.first_offset = offset

    def flush(self, *, idle_since: datetime | None = None) -> Conclusions:
        """Conclude what changed since the last flush, and what has become idle.

        `idle_since` is the present when the partition has been read to its end and stays silent; the watermark
        moves on to it, so that the last invocations close without a later event.
        """
        if idle_since is not None:
            self.watermark = max(self.watermark, idle_since)
        dirty = self._dirty | self._idle()
        self._dirty = set()
        recalls: list[RecallEvent] = []
        trajectories: list[TaskTrajectory] = []
        for key in sorted(dirty, key=lambda key: self._held[key].first_offset):
            self._conclude(self._held[key], recalls, trajectories)
        return Conclusions(recalls, trajectories, frozenset(key for key in dirty if self._held[key].closed))

    def delivered(self, conclusions: Conclusions) -> None:
        """Learn that the broker has acknowledged these conclusions: their invocations hold the commit back no more."""
        for key in conclusions.closed - self._dirty:
            self._open.discard(key)
            self._closed[key] = None
            self._kept_events += self._held[key].events
        while self._kept_events > self._bounds.keep_closed:
            oldest = next(iter(self._closed))
            del self._closed[oldest]
            self._kept_events -= self._held.pop(oldest).events

    def _idle(self) -> set[str]:
        """Return the open invocations that nobody has continued; looked for when the watermark has moved enough."""
        if self.watermark - self._idle_looked_at < self._bounds.idle / 100:
            return set()
        self._idle_looked_at = self.watermark
        return {key for key in self._open if self._is_idle(self._held[key])}

    def _is_idle(self, held: _Held) -> bool:
        return self.watermark - max(held.last_event, held.watermark_then) >= self._bounds.idle

    def _conclude(self, held: _Held, recalls: list[RecallEvent], trajectories: list[TaskTrajectory]) -> None:
        now = END_OF_TIME if self._is_idle(held) else held.last_event
        decisions = decide(held.state, now, policy=self._policy)
        held.closed = decisions.closed
        news = [recall for recall in decisions.recalls if _is_news(held.sent.get(recall.recall_id), recall)]
        held.sent |= {recall.recall_id: recall for recall in news}
        recalls += news
        if decisions.trajectory is not None and (held.closed or news):
            trajectories.append(decisions.trajectory)


def _is_news(sent: RecallEvent | None, recall: RecallEvent) -> bool:
    """Tell whether a reader learns something: a final revision always, an earlier one when more than counters moved."""
    if sent is None or recall.phase == "final":
        return sent is None or sent.revision != recall.revision
    return _without_counters(sent) != _without_counters(recall)


def _without_counters(recall: RecallEvent) -> RecallEvent:
    return msgspec.structs.replace(recall, revision=0, phase="open", calls_in_window=0)
