"""The trajectories of each thread and what was said of them afterwards, as a pure machine: records in, revisions out.

A signal may come days after its invocation was closed, from another partition, and before or after the trajectory.
What is emitted is a function of the set of records; a trajectory keeps every signal that was ever seen with it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from correlator.signals import OWN_SIGNALS, is_verdict, with_signals
from streams.codec import decode
from streams.events import MessagePosted, OutcomeSignalled
from streams.log import Partition, Record
from streams.recall import TaskTrajectory, VerificationSignal
from streams.topics import TRAJECTORIES

MAX_TRAJECTORIES = 2_000
"""Trajectories that one worker holds, the newest on the log; a signal for an older one no longer reaches it."""

_encode = msgspec.json.Encoder().encode
_trajectory = msgspec.json.Decoder(TaskTrajectory)


@dataclass(slots=True)
class _Held:
    """One trajectory: encoded, because most of them wait for signals that never come."""

    partition: Partition
    thread_id: str
    newest: bytes
    """The newest message of it on the log, which is what compaction leaves."""
    base: bytes
    """The newest of the correlator's own revisions, or that one with signals."""
    base_revision: int
    carried: dict[VerificationSignal, None]
    """Outside signals that earlier revisions had."""


@dataclass(slots=True)
class _Thread:
    trajectories: set[str] = field(default_factory=set)
    signals: dict[str, OutcomeSignalled] = field(default_factory=dict)
    """By event id."""
    messages: dict[str, MessagePosted] = field(default_factory=dict)
    """Chat turns that say something of the work, by event id."""


class Verdicts:
    """Joins trajectories with the signals and chat turns of their thread."""

    def __init__(self, limit: int = MAX_TRAJECTORIES) -> None:
        self._limit = limit
        self._held: dict[str, _Held] = {}
        """By trajectory id, in the order of their newest record."""
        self._threads: dict[str, _Thread] = {}
        self._dirty: set[str] = set()
        """Trajectories to weigh again."""

    def take(self, record: Record) -> None:
        """Take one record of trajectories, signals or messages in; what cannot be read is the sink's dead letter."""
        if record.topic == TRAJECTORIES.name:
            self._take_trajectory(record)
            return
        for event in decode(record.value or b"")[0]:
            thread = self._threads.setdefault(event.thread_id, _Thread()) if event.thread_id else None
            if thread is None:
                continue
            if isinstance(event, OutcomeSignalled):
                thread.signals[event.event_id] = event
                self._dirty |= thread.trajectories
            elif isinstance(event, MessagePosted) and is_verdict(event):
                thread.messages[event.event_id] = event
                self._dirty |= thread.trajectories

    def forget(self, partitions: Iterable[Partition]) -> None:
        """Drop the trajectories of partitions that move: their next owner reads them from the beginning."""
        lost = frozenset(partitions)
        for key in [key for key, held in self._held.items() if held.partition in lost]:
            self._drop(key)

    def news(self) -> Mapping[str, bytes]:
        """Return the revisions that the log does not have yet, by trajectory id."""
        found: dict[str, bytes] = {}
        for key in sorted(self._dirty & self._held.keys()):
            held = self._held[key]
            thread = self._threads[held.thread_id]
            if not (thread.signals or thread.messages or held.carried):
                continue
            value = _encode(_weighed(held, thread))
            if value != held.newest:
                found[key] = held.newest = value
        self._dirty.clear()
        return found

    def _take_trajectory(self, record: Record) -> None:
        key = (record.key or b"").decode(errors="replace")
        if record.value is None:
            self._drop(key)
            return
        with contextlib.suppress(msgspec.DecodeError):
            trajectory = _trajectory.decode(record.value)
            if trajectory.thread_id:
                self._hold(key, trajectory, record.value, Partition(record.topic, record.partition))

    def _hold(self, key: str, trajectory: TaskTrajectory, value: bytes, partition: Partition) -> None:
        outside = {each: None for each in trajectory.signals if each.signal not in OWN_SIGNALS}
        revision = trajectory.revision - 2 * len(outside)
        known = self._held.pop(key, None)
        if known is None or revision >= known.base_revision:
            carried = outside if known is None else known.carried | outside
            held = _Held(partition, trajectory.thread_id, value, value, revision, carried)
        else:
            held = known
            held.newest, held.carried = value, held.carried | outside
        self._held[key] = held
        self._threads.setdefault(held.thread_id, _Thread()).trajectories.add(key)
        self._dirty.add(key)
        if len(self._held) > self._limit:
            self._drop(next(iter(self._held)))

    def _drop(self, key: str) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            thread = self._threads[held.thread_id]
            thread.trajectories.discard(key)
            if not (thread.trajectories or thread.signals or thread.messages):
                del self._threads[held.thread_id]


def _weighed(held: _Held, thread: _Thread) -> TaskTrajectory:
    base = _trajectory.decode(held.base)
    own = tuple(each for each in base.signals if each.signal in OWN_SIGNALS)
    bare = msgspec.structs.replace(base, signals=own, revision=held.base_revision)
    return with_signals(bare, thread.signals.values(), thread.messages.values(), carried=held.carried)
