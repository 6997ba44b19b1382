"""The outcome of a whole set of events at once: replay, tests and demonstrations run the same core as the stream."""

from __future__ import annotations

from collections.abc import Iterable

from correlator.decide import END_OF_TIME, decide
from correlator.documents import NO_DOCUMENTS, Documents
from correlator.invocation import Invocation, evolve
from correlator.window import DEFAULT_POLICY, CorrelatorPolicy
from streams.events import ToolEvent
from streams.recall import RecallEvent, TaskTrajectory


def correlate(
    events: Iterable[ToolEvent],
    *,
    policy: CorrelatorPolicy = DEFAULT_POLICY,
    documents: Documents = NO_DOCUMENTS,
) -> tuple[list[RecallEvent], list[TaskTrajectory]]:
    """Return the final conclusions of a set of events, whatever their order and however often each occurs.

    Both lists are in the order of event time.
    """
    invocations: dict[str, Invocation] = {}
    for event in events:
        invocations[event.invocation_id] = evolve(invocations.get(event.invocation_id), event)
    recalls: list[RecallEvent] = []
    trajectories: list[TaskTrajectory] = []
    for state in invocations.values():
        decisions = decide(state, END_OF_TIME, policy=policy, documents=documents)
        recalls.extend(decisions.recalls)
        if (trajectory := decisions.trajectory) is not None:
            trajectories.append(trajectory)
    recalls.sort(key=lambda recall: (recall.occurred_at, recall.recall_id))
    trajectories.sort(key=lambda trajectory: (trajectory.started_at, trajectory.trajectory_id))
    return recalls, trajectories
