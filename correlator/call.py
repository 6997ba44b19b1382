"""What follows from one call alone, worked out once: its place in time, what it opened, where it searched."""

from __future__ import annotations

from datetime import datetime

import msgspec

from correlator.methods import EDIT_TOOLS, SEARCH_TOOLS, handles_of, server_of, shell_of
from correlator.target_match import Handle
from streams.events import Surface, ToolCalled, ToolStatus
from streams.recall import Grade, ResultStatus

OrderKey = tuple[datetime, int, str]
"""The order of calls inside an invocation: (occurred_at, turn_index, tool_use_id)."""


class Call(msgspec.Struct, eq=False, gc=False):
    """One call with what follows from it alone; never changed."""

    event: ToolCalled
    observations: int
    """Distinct events that observed it."""
    key: OrderKey
    at: datetime
    """Its start."""
    end: datetime
    """Its end; the start where no end is known or it lies before the start."""
    ok: bool
    handles: tuple[Handle, ...]
    surface: str | None
    """Where it searched; null when it was no search."""
    tree_search: bool
    """A search of the code by pattern instead of a named file: a fallback when it follows a memory search."""
    opened: bool
    """It brought the content of something named before the agent, or changed it."""
    grade: Grade
    skew_ms: int = 0
    """How far its end lies before its start."""


def ms_between(start: datetime, end: datetime) -> int:
    """Whole milliseconds from one instant to another; negative when the other is earlier."""
    return round((end - start).total_seconds() * 1000)


def facts_of(event: ToolCalled, observations: int = 1) -> Call:
    """Return what follows from one call alone."""
    tool = event.tool
    verdict = shell_of(event)
    handles = handles_of(event, verdict)
    named = bool(handles) and not (handles[0].maybe_directory and all(handle.maybe_directory for handle in handles))
    tree_search = verdict.tree_search if verdict is not None else tool == "Grep" and not named
    at, end = event.occurred_at, event.ended_at
    ok = event.status is ToolStatus.OK
    return Call(
        event,
        observations,
        (at, event.turn_index, event.tool_use_id),
        at,
        at if end is None or end < at else end,
        ok,
        handles,
        None if tool in EDIT_TOOLS or tool == "Read" else _surface(event, tree_search, handles),
        tree_search,
        ok and named and tool not in ("graph_resolve", "Glob"),
        Grade.C if verdict is not None else _GRADES.get(tool, Grade.B),
        0 if end is None or end >= at else ms_between(end, at),
    )


_GRADES = {"memory_citation": Grade.A, "ApplyPatch": Grade.C, "apply_patch": Grade.C}
"""Grade of a consumption by tool: A the runtime says so, C by a patch; shell is C, all others B."""


def _surface(event: ToolCalled, tree_search: bool, handles: tuple[Handle, ...]) -> str | None:
    recall = event.recall
    if event.tool == "Grep":
        return Surface.CODE_SEARCH if tree_search else None
    if (surface := SEARCH_TOOLS.get(event.tool)) is not None:
        return recall.surface if recall is not None else surface
    if tree_search:
        return Surface.CODE_SEARCH
    if recall is None:
        return None
    if recall.surface == Surface.CODE_SEARCH and recall.candidates and not handles:
        return recall.surface if server_of(event) else None
    if recall.surface == Surface.CODE_SEARCH:
        return None
    answered = recall.candidates or recall.result_status is not ResultStatus.PARSER_MISS
    return recall.surface if answered or not handles else None
