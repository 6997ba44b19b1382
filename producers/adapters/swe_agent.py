"""SWE-agent trajectories (`.traj`) to events: one run is one invocation, one step one call.

A trajectory has no times, and its call ids are no names: real ones stand at several steps. Steps are placed in order
before the file's last change, one execution time apart, and are named by their index in a run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Any

from producers import identity
from producers.lines import Problem
from producers.observed import Observed
from producers.records import mapping, records, sequence, text
from producers.touches import absolute
from producers.translation import Adapter, SourceFile, Translation
from producers.turns import Home, TurnBook, turn_events
from streams.events import ToolEvent, Touch

NAME = "swe-agent-trajectory"
RUNTIME = "swe-agent"

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_FOUND = re.compile(r"^(/\S+?)(?: \(\d+ matches\))?\s*$", re.M)
_ISSUE = re.compile(r"ISSUE:\s*(.*)", re.S)


def recognises(name: str, head: bytes) -> bool:
    """Tell whether a file is a trajectory, by its first bytes."""
    return b'"trajectory"' in head and (b'"action"' in head or name.endswith(".traj"))


def lineage(name: str, head: bytes) -> str:
    """Return the run: one file."""
    return name


def translate(files: Sequence[SourceFile]) -> Translation:
    """Return the events of one run."""
    events: list[ToolEvent] = []
    problems: list[Problem] = []
    counts = {}
    for file in files:
        book, run = TurnBook(file.uri, RUNTIME), PurePath(file.uri).name.removesuffix(".traj")
        for item in records(file):
            if isinstance(item, Problem):
                problems.append(item)
            else:
                run = f"{run}-{_nonce(item.value)}"
                _run(book, run, item.value, file)
        home = Home(adapter=NAME, runtime=RUNTIME, session_id=run)
        events += [event for turn in book.turns for event in turn_events(turn, home)]
        counts[file.uri] = book.tally.counts()
    return Translation(events=tuple(events), problems=tuple(problems), files=counts)


def _nonce(value: dict[str, Any]) -> str:
    """What tells two runs of one task apart: how they began."""
    first = mapping(next(iter(sequence(value.get("trajectory"))), None))
    return identity.event_id("run", *(text(first.get(name)) for name in ("response", "action", "observation")))[:8]


def _run(book: TurnBook, run: str, value: dict[str, Any], file: SourceFile) -> None:
    steps = [mapping(step) for step in sequence(value.get("trajectory"))]
    book.tally.records += len(steps)
    if file.modified_at is None:
        book.tally.skipped["step without a time"] += len(steps)
        return
    lengths = [timedelta(seconds=max(_seconds(step), 0.001)) for step in steps]
    at = file.modified_at - sum(lengths, timedelta())
    turn = book.begin(run, at=at, line=0, prompt=_issue(value))
    state = _state(steps[0].get("state")) if steps else {}
    state = {"working_dir": state.get("working_dir")}
    for index, (step, length) in enumerate(zip(steps, lengths, strict=True)):
        book.cwd = text(state.get("working_dir")) or book.cwd
        seen = _asked(text(step.get("action")), state, book.cwd)
        seen.call_id, seen.at, seen.line = f"step_{index}", at, index + 1
        book.call(seen)
        shown = text(step.get("observation")).replace("\r\n", "\n")
        at += length
        book.finish(seen, shown, at, failed=shown.startswith("Your proposed edit has introduced new syntax error"))
        if seen.tool == "Glob":
            seen.structured = {"filenames": _FOUND.findall(shown)}
        state = _state(step.get("state")) or state
    turn.reason = "stop" if mapping(value.get("info")).get("exit_status") else "end_of_source"


def _asked(action: str, state: dict[str, Any], cwd: str) -> Observed:
    """One step's command as the call that it is; what is no command of the agent's own is a shell command."""
    words = action.split()
    name = words[0] if words else "unknown"
    target = words[1].strip("\"'") if len(words) > 1 else ""
    opened = text(state.get("open_file"))
    known: dict[str, tuple[str, dict[str, Any]]] = {
        "open": ("Read", {"file_path": target}),
        "create": ("Write", {"file_path": target}),
        "edit": ("Edit", {"file_path": opened, "new_string": action}),
        "find_file": ("Glob", {"pattern": target}),
        "search_dir": ("Glob", {"pattern": target}),
        "search_file": ("Grep", {"pattern": target, "path": words[2].strip("\"'") if len(words) > 2 else opened}),
        "goto": ("Read", {"file_path": opened}),
        "scroll_down": ("Read", {"file_path": opened}),
        "scroll_up": ("Read", {"file_path": opened}),
        "submit": ("submit", {}),
    }
    tool, tool_input = known.get(name, ("Bash", {"command": action}))
    touched: tuple[Touch, ...] = ()
    if tool == "Edit" and opened:
        touched = (Touch(op="edit", path=absolute(opened, cwd)),)
    return Observed(call_id="", name=name, tool=tool, input=tool_input, at=_NEVER, line=0, cwd=cwd, touched=touched)


def _state(value: Any) -> dict[str, Any]:
    """The state after a step: an object, or one written as JSON text."""
    if isinstance(value, str):
        try:
            return mapping(json.loads(value))
        except (ValueError, RecursionError):
            return {}
    return mapping(value)


def _seconds(step: dict[str, Any]) -> float:
    value = step.get("execution_time")
    return float(value) if isinstance(value, int | float) and 0 <= value < 86_400 else 0.0


def _issue(value: dict[str, Any]) -> str:
    for message in sequence(value.get("history")):
        if mapping(message).get("role") == "user":
            said = text(mapping(message).get("content"))
            found = _ISSUE.search(said)
            return found.group(1) if found else said
    return ""


ADAPTER = Adapter(name=NAME, runtime=RUNTIME, recognises=recognises, lineage=lineage, translate=translate)
