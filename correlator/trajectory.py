"""One invocation's way from its searches to its work: steps in order, files read and modified, cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from correlator.call import Call, ms_between
from correlator.conclude import ClosedBy, query_of
from correlator.identity import trajectory_id_of
from correlator.invocation import Book
from correlator.methods import SHELL_TOOLS, command_of
from correlator.verify import is_verification
from streams.events import InvocationEnded
from streams.recall import RecallEvent, Step, TaskTrajectory, VerificationSignal

MAX_TARGET = 300
"""Characters of a step's target that are kept."""


def trajectory_of(
    book: Book, recalls: Sequence[RecallEvent], events: int, closed_by: ClosedBy | None
) -> TaskTrajectory | None:
    """Return the trajectory of the invocation's main agent and its subagents; null when they searched nothing."""
    if not recalls:
        return None
    main = _main_agent(book)
    own = [recall for recall in recalls if _is_under(recall.agent_id, main)]
    if not own:
        return None
    calls = sorted(
        (call for lane in book.lanes.values() if _is_under(lane.agent_id, main) for call in lane.calls),
        key=lambda call: call.key,
    )
    first = calls[0].event
    started_at, ended_at = _span(book, calls)
    sought = [recall.tokens_result for recall in own if recall.tokens_result is not None]
    end = book.end
    return TaskTrajectory(
        trajectory_id=trajectory_id_of(first.invocation_id),
        revision=2 * events + (closed_by is not None),
        phase="final" if closed_by is not None else "changed" if len(calls) > len(own) else "open",
        invocation_id=first.invocation_id,
        session_id=first.session_id,
        root_session_id=first.root_session_id,
        thread_id=first.thread_id,
        agent_id=main,
        runtime=first.runtime,
        started_at=started_at,
        ended_at=ended_at,
        duration_ms=ms_between(started_at, ended_at),
        task_context=task_context((start.prompt for start in book.starts), (recall.query for recall in own)),
        recall_ids=tuple(recall.recall_id for recall in own),
        steps=_steps(calls, own),
        files_read=files(calls, edited=False),
        files_modified=files(calls, edited=True),
        calls=len(calls),
        tokens_output=end.usage.output if end is not None and end.usage is not None else None,
        tokens_search=sum(sought) if sought else None,
        signals=_own_signals(end),
    )


def _own_signals(end: InvocationEnded | None) -> tuple[VerificationSignal, ...]:
    """That a run came to its own stop is told, and verifies nothing."""
    if end is None or end.reason != "stop":
        return ()
    return (VerificationSignal(signal="invocation_succeeded", actor=end.agent_id, at=end.occurred_at),)


def _main_agent(book: Book) -> str:
    """The agent that the prompt was for, else the one that began."""
    if book.starts:
        return book.starts[0].agent_id
    first = min((lane for lane in book.lanes.values() if lane.keys), key=lambda lane: lane.keys[0])
    above = [
        lane.agent_id for lane in book.lanes.values() if lane.keys and first.agent_id.startswith(f"{lane.agent_id}/")
    ]
    return min(above, key=len, default=first.agent_id)


def _is_under(agent_id: str, main: str) -> bool:
    return agent_id == main or agent_id.startswith(f"{main}/")


def _span(book: Book, calls: Sequence[Call]) -> tuple[datetime, datetime]:
    ends = [call.event.ended_at or call.event.occurred_at for call in calls]
    started = (
        min(calls[0].event.occurred_at, *(start.occurred_at for start in book.starts))
        if book.starts
        else calls[0].event.occurred_at
    )
    return started, max(*ends, started)


def by_thread(trajectories: Iterable[TaskTrajectory]) -> dict[str, list[TaskTrajectory]]:
    """Return the trajectories of each thread in order: several runs of one task, seen together."""
    threads: dict[str, list[TaskTrajectory]] = {}
    for trajectory in sorted(trajectories, key=lambda each: (each.started_at, each.trajectory_id)):
        threads.setdefault(trajectory.thread_id, []).append(trajectory)
    return threads


def task_context(prompts: Iterable[str], queries: Iterable[str]) -> str:
    """Return what the work was about: the first prompt that says something, else the distinct queries in order."""
    said = next((prompt for prompt in prompts if prompt.strip()), "")
    return said or " → ".join(dict.fromkeys(query for query in queries if query))


def files(calls: Iterable[Call], *, edited: bool) -> tuple[str, ...]:
    """Return the files that successful calls read or modified, once each, in the order of their first time."""
    found: dict[str, None] = {}
    for call in calls:
        if call.ok:
            for handle in call.handles:
                if handle.path is not None and handle.edit is edited and call.opened and not handle.maybe_directory:
                    found.setdefault(handle.path.text)
    return tuple(found)


def _steps(calls: Iterable[Call], recalls: Iterable[RecallEvent]) -> tuple[Step, ...]:
    searches: dict[str, str] = {}
    consumers: dict[str, str] = {}
    for recall in recalls:
        searches[recall.tool_use_id] = recall.recall_id
        for consumed in recall.consumed:
            if consumed.rank is not None:
                consumers[consumed.tool_use_id] = recall.recall_id
    return tuple(_step(call, searches, consumers) for call in calls)


def _step(call: Call, searches: dict[str, str], consumers: dict[str, str]) -> Step:
    event = call.event
    use = event.tool_use_id
    own = searches.get(use)
    return Step(
        kind="search" if own is not None else _kind(call),
        at=event.occurred_at,
        tool=event.tool,
        tool_use_id=use,
        target=_target(call)[:MAX_TARGET],
        recall_id=own or consumers.get(use),
    )


def _kind(call: Call) -> Literal["read", "edit", "verify", "other"]:
    if call.opened:
        return "edit" if call.handles[0].edit or any(handle.edit for handle in call.handles) else "read"
    if call.event.tool in SHELL_TOOLS and is_verification(command_of(call.event.input)):
        return "verify"
    return "other"


def _target(call: Call) -> str:
    if call.surface is not None:
        return query_of(call.event)
    if call.handles:
        handle = call.handles[0]
        return handle.path.text if handle.path is not None else handle.value
    return command_of(call.event.input)
