"""What an invocation's events come to at an instant of event time: its RecallEvents and its trajectory.

A conclusion is a function of the set of distinct events and of nothing else: not of their arrival, not of what was
concluded before. A revision rises as that set grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from correlator.across import with_credit_across_agents
from correlator.attribution import Attribution, Search
from correlator.conclude import ClosedBy, recall_event
from correlator.documents import NO_DOCUMENTS, Documents
from correlator.invocation import Book, Invocation
from correlator.trajectory import trajectory_of
from correlator.window import DEFAULT_POLICY, CorrelatorPolicy
from streams.recall import RecallEvent, TaskTrajectory

END_OF_TIME = datetime.max.replace(tzinfo=UTC)
"""Event time at which everything is closed: the whole of a finished recording."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What is concluded so far."""

    recalls: tuple[RecallEvent, ...]
    """In event order."""
    closed: bool
    _trajectory: Callable[[], TaskTrajectory | None] = field(compare=False)

    @property
    def trajectory(self) -> TaskTrajectory | None:
        """Null without a search, and for a very long invocation that is still open.

        Drawn up when asked for, because it walks all calls; ask before the next event is taken in.
        """
        return self._trajectory()


def is_closed(state: Invocation, now: datetime, *, policy: CorrelatorPolicy = DEFAULT_POLICY) -> bool:
    """Whether an invocation has ended, or was idle too long, as of this event time."""
    return _closure(state.book, now, policy) is not None


def _closure(book: Book, now: datetime, policy: CorrelatorPolicy) -> ClosedBy | None:
    end, last_call = book.end, book.last_call_at
    if end is not None and (last_call is None or last_call <= end.occurred_at + policy.end_grace):
        return "invocation_end"
    times = [last_call, end.occurred_at if end else None, book.starts[-1].occurred_at if book.starts else None]
    latest = max((at for at in times if at is not None), default=None)
    return "idle" if latest is not None and now - latest >= policy.idle_timeout else None


def decide(
    state: Invocation,
    now: datetime,
    *,
    policy: CorrelatorPolicy = DEFAULT_POLICY,
    documents: Documents = NO_DOCUMENTS,
) -> Decisions:
    """Return what the events of an invocation come to.

    Args:
        state: The invocation.
        now: Event time that has been reached; it only decides whether a silent invocation is closed.
        policy: Window and timeouts.
        documents: What is indexed, to see reads of what no search had shown.
    """
    book = state.book
    book.set(policy, documents)
    closure = _closure(book, now, policy)
    named = book.named_targets
    folds = [(lane, lane.attributed(policy, documents, named)) for lane in book.lanes.values()]
    recalls = [
        (None if closure else search.concluded) or _recall(search, book, fold, closure, policy)
        for _, fold in folds
        for search in fold.searches
    ]
    if closure is not None and len(folds) > 1:
        recalls = with_credit_across_agents(recalls, folds, policy)
    if len(folds) > 1:
        recalls.sort(key=lambda recall: (recall.occurred_at, recall.tool_use_id))
    short = sum(len(lane.calls) for lane, _ in folds) <= policy.max_open_calls
    told = closure is not None or short
    return Decisions(
        tuple(recalls),
        closure is not None,
        lambda: trajectory_of(book, recalls, state.events, closure) if told else None,
    )


def _recall(
    search: Search,
    book: Book,
    fold: Attribution,
    closure: ClosedBy | None,
    policy: CorrelatorPolicy,
) -> RecallEvent:
    """Conclude one search; what a closed window rests on cannot change before the invocation is closed."""
    if search.closed_after is None:
        inside = fold.count - search.index - 1
        if closure is None:
            revision = 2 * (fold.events + len(book.starts) + len(book.ends))
            return recall_event(search, revision=revision, closed_by=None, calls_in_window=inside, policy=policy)
        revision = 2 * len(book.arrivals) + 1
        return recall_event(search, revision=revision, closed_by=closure, calls_in_window=inside, policy=policy)
    if search.concluded is None:
        search.concluded = recall_event(
            search,
            revision=2 * (search.basis + len(book.starts)) + 1,
            closed_by="window",
            calls_in_window=search.closed_after,
            policy=policy,
        )
    if closure is None:
        return search.concluded
    return msgspec.structs.replace(search.concluded, revision=2 * len(book.arrivals) + 1)


def is_news(sent: RecallEvent | None, recall: RecallEvent) -> bool:
    """Whether a reader who was sent the one learns something from the other.

    A final revision always is news, an earlier one when more than counters moved. A lower revision never is: an
    invocation that was closed and goes on begins below its closing revisions and is heard of again once it rises.
    """
    if sent is None or recall.revision < sent.revision:
        return sent is None
    if recall.phase == "final":
        return sent.revision != recall.revision
    return _without_counters(sent) != _without_counters(recall)


def _without_counters(recall: RecallEvent) -> RecallEvent:
    return msgspec.structs.replace(recall, revision=0, phase="open", calls_in_window=0)
