"""What follows from one call alone, worked out once: its place in time, what it opened, where it searched."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from correlator.methods import EDIT_TOOLS, SEARCH_TOOLS, handles_of, server_of, shell_of
from correlator.shell import ShellVerdict
from correlator.target_match import Handle
from streams.events import Surface, ToolCalled, ToolStatus
from streams.recall import Grade, ResultStatus

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)

OrderKey = tuple[datetime, int, str]
"""The order of calls inside an invocation: (occurred_at, turn_index, tool_use_id)."""


@dataclass(slots=True, eq=False)
class Call:
    """One call with what follows from it alone."""

    event: ToolCalled
    observations: int
    """Distinct events that observed it."""
    key: OrderKey
    at_ms: int
    """Start in milliseconds since 1970."""
    end_ms: int
    """End; the start where no end is known or it lies before the start."""
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


def facts_of(event: ToolCalled, observations: int = 1) -> Call:
    """Return what follows from one call alone."""
    verdict = shell_of(event)
    handles = handles_of(event, verdict)
    at_ms = (event.occurred_at - EPOCH) // _MS
    end_ms = (event.ended_at - EPOCH) // _MS if event.ended_at else at_ms
    ok = event.status is ToolStatus.OK
    tree_search = _searches_tree(event, verdict, handles)
    return Call(
        event=event,
        observations=observations,
        key=(event.occurred_at, event.turn_index, event.tool_use_id),
        at_ms=at_ms,
        end_ms=max(at_ms, end_ms),
        ok=ok,
        handles=handles,
        surface=_surface(event, tree_search, handles),
        tree_search=tree_search,
        opened=ok and bool(handles) and event.tool not in ("graph_resolve", "Glob"),
        grade=_grade(event, verdict),
        skew_ms=max(0, at_ms - end_ms),
    )


def _searches_tree(event: ToolCalled, verdict: ShellVerdict | None, handles: tuple[Handle, ...]) -> bool:
    if verdict is not None:
        return verdict.tree_search
    return event.tool == "Grep" and not handles


def _surface(event: ToolCalled, tree_search: bool, handles: tuple[Handle, ...]) -> str | None:
    recall = event.recall
    if event.tool == "Grep":
        return Surface.CODE_SEARCH if tree_search else None
    if (surface := SEARCH_TOOLS.get(event.tool)) is not None:
        return recall.surface if recall is not None else surface
    if tree_search:
        return Surface.CODE_SEARCH
    if recall is None or event.tool in EDIT_TOOLS:
        return None
    if recall.surface == Surface.CODE_SEARCH and recall.candidates and not handles:
        return recall.surface if server_of(event) else None
    if recall.surface == Surface.CODE_SEARCH:
        return None
    answered = recall.candidates or recall.result_status is not ResultStatus.PARSER_MISS
    return recall.surface if answered or not handles else None


def _grade(event: ToolCalled, verdict: ShellVerdict | None) -> Grade:
    if event.tool == "memory_citation":
        return Grade.A
    return Grade.C if verdict is not None or event.tool in ("ApplyPatch", "apply_patch") else Grade.B
