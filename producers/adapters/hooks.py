"""Hook payloads of Claude Code and Codex to events: one record a line, one array, or one object a file.

Hooks carry no time: a collector stamps them (`received_at`); a bare log is placed in order before its file's last
change. A failed call fires no `PostToolUse`, so silence proves nothing: such a call stays interrupted until its
transcript tells how it ended. Calls are joined by `tool_use_id`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from producers import identity
from producers.lines import Line, Problem
from producers.observed import Observed
from producers.records import mapping, records, sequence, text, whole
from producers.times import from_millis, instant
from producers.translation import Adapter, SourceFile, Translation
from producers.turns import Home, Reason, Tally, Turn, turn_events
from streams.events import ToolEvent, ToolStatus

CLAUDE, CODEX = "claude-code", "codex-cli"

_SESSION = re.compile(rb'"session_id"\s*:\s*"([^"]+)"')
_CODEX = re.compile(rb'"turn_id"\s*:|"session_id"\s*:\s*"[0-9a-f]{8}-[0-9a-f]{4}-7')
"""Codex names turns, and its session ids are UUIDs of version 7."""

_DAY_MS = 86_400_000
_STOPS: dict[str, Reason] = {"Stop": "stop", "StopFailure": "interrupted", "SessionEnd": "session_end"}
_CALLS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionDenied", "PermissionRequest", "PostToolBatch")
_TOLD = frozenset({*_CALLS, *_STOPS, "UserPromptSubmit"})


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where and when a payload came."""

    at: datetime
    uri: str
    line: int
    tally: Tally


class _Log:
    """Folds the payloads of one session."""

    def __init__(self, runtime: str, session_id: str) -> None:
        self.runtime, self.session_id = runtime, session_id
        self.turns: dict[str, Turn] = {}
        self.timed = True
        """Whether every payload said when it came."""
        self._turn: Turn | None = None
        self._calls: dict[str, Observed] = {}
        self._equal: Counter[str] = Counter()
        self._epoch = 0
        self._compacting = False

    def add(self, value: dict[str, Any], spot: _Spot) -> None:
        """Take in one payload."""
        kind = text(value.get("hook_event_name")) or _kind_of(value)
        if kind in ("PreCompact", "SessionStart"):
            self._compacted(kind, text(value.get("source")))
            return
        if kind not in _TOLD:
            spot.tally.skipped[f"hook: {kind[:60]}"] += 1
            return
        turn = self._turn_of(value, kind, spot)
        if kind == "UserPromptSubmit":
            turn.prompt = text(value.get("prompt"))
        elif kind in _STOPS:
            turn.reason = _STOPS[kind]
        elif kind == "PostToolBatch":
            for call in sequence(value.get("tool_calls")):
                self._call("PostToolUse", value | mapping(call), spot, turn)
        else:
            self._call(kind, value, spot, turn)

    def _compacted(self, kind: str, source: str) -> None:
        """A compaction fires a hook before and starts a session after: it counts once, whichever of them is logged."""
        if kind == "PreCompact":
            self._epoch, self._compacting = self._epoch + 1, True
        elif source == "compact":
            self._epoch, self._compacting = self._epoch + (not self._compacting), False

    def _turn_of(self, value: dict[str, Any], kind: str, spot: _Spot) -> Turn:
        own = text(value.get("prompt_id")) or text(value.get("turn_id"))
        if not own and (kind == "UserPromptSubmit" or self._turn is None):
            prompt = text(value.get("prompt"))
            self._equal[prompt] += 1
            own = identity.event_id("prompt", self.session_id, prompt, str(self._equal[prompt]))
        if not own and self._turn is not None:
            turn = self._turn
        else:
            turn = self.turns.get(own) or self._begin(own, value, spot)
        turn.last_at = max(turn.last_at, spot.at)
        turn.model = text(value.get("model")) or turn.model
        self._turn = turn
        return turn

    def _begin(self, own: str, value: dict[str, Any], spot: _Spot) -> Turn:
        turn = Turn(
            invocation_id=identity.invocation_id(self.runtime, own),
            uri=spot.uri,
            line=spot.line,
            at=spot.at,
            last_at=spot.at,
            agent_id=self.runtime,
            cwd=text(value.get("cwd")),
            epoch=self._epoch,
        )
        self.turns[own] = turn
        return turn

    def _call(self, kind: str, value: dict[str, Any], spot: _Spot, turn: Turn) -> None:
        name, tool_input = text(value.get("tool_name")) or "unknown", mapping(value.get("tool_input"))
        call_id = text(value.get("tool_use_id"))
        key = call_id or f"{name}/{identity.input_digest(tool_input)}/{self._nth(kind, name, tool_input)}"
        seen = self._calls.get(key)
        if seen is None:
            side = text(value.get("agent_id"))
            seen = Observed(
                call_id=call_id,
                name=name,
                input=tool_input,
                at=spot.at,
                line=spot.line,
                cwd=text(value.get("cwd")),
                epoch=self._epoch,
                nth=self._equal[f"pre/{name}/{identity.input_digest(tool_input)}"],
            )
            self._calls[key] = seen
            spot.tally.calls.append(seen)
            turn.add(seen, agent=f"{self.runtime}/{side}" if side else self.runtime, uri=spot.uri)
        if kind == "PreToolUse":
            seen.at = min(seen.at, spot.at)
        elif kind != "PermissionRequest":
            self._end(kind, seen, value, spot)

    def _nth(self, kind: str, name: str, tool_input: dict[str, Any]) -> int:
        """Payloads of before ids came: the nth Post of an equal call belongs to its nth Pre."""
        stage = "pre" if kind == "PreToolUse" else "post"
        key = f"{stage}/{name}/{identity.input_digest(tool_input)}"
        self._equal[key] += 1
        return self._equal[key]

    def _end(self, kind: str, seen: Observed, value: dict[str, Any], spot: _Spot) -> None:
        spot.tally.results += seen.text is None
        seen.ended_at = max(spot.at, seen.at)
        if kind == "PermissionDenied":
            seen.text, seen.status = text(value.get("reason")), ToolStatus.DENIED
            seen.extra = seen.extra | {"error_kind": "permission_denied"}
        elif kind == "PostToolUseFailure":
            seen.text, seen.is_error = text(value.get("error")), True
            spot.tally.errors += 1
            if value.get("is_interrupt") is True:
                seen.status = ToolStatus.INTERRUPTED
        else:
            response = value.get("tool_response")
            seen.text = shown_text(response)
            if seen.structured is None or isinstance(response, dict):
                seen.structured = response
        took_ms = whole(value.get("duration_ms"))
        if took_ms is not None and took_ms > 0 and seen.at == spot.at:
            seen.at = spot.at - timedelta(milliseconds=min(took_ms, _DAY_MS))


def _received(value: dict[str, Any]) -> datetime | None:
    for name in ("received_at", "_received_at", "timestamp"):
        if name in value:
            return instant(value[name]) or from_millis(value[name])
    return None


def _kind_of(value: dict[str, Any]) -> str:
    """Old logs do not name the event."""
    if "tool_response" in value:
        return "PostToolUse"
    if "tool_name" in value:
        return "PreToolUse"
    return "UserPromptSubmit" if "prompt" in value else "unknown"


def shown_text(response: Any) -> str:
    """Return the text of a tool's response as near as it comes to what the model saw."""
    if isinstance(response, str):
        return response
    if isinstance(response, list):
        return "\n".join(text(mapping(block).get("text")) for block in response)
    told = mapping(response)
    if "stdout" in told:
        return "\n".join(part for part in (text(told.get("stdout")), text(told.get("stderr"))) if part)
    if isinstance(told.get("content"), str):
        return str(told["content"])
    if isinstance(told.get("filenames"), list):
        names = [name for name in told["filenames"] if isinstance(name, str)]
        return "\n".join(names) or "No files found"
    file = mapping(told.get("file"))
    if isinstance(file.get("content"), str):
        return str(file["content"])
    if isinstance(told.get("content"), list):
        return shown_text(told["content"])
    return text(told.get("result")) or (json.dumps(told, ensure_ascii=False) if told else "")


def recognises(name: str, head: bytes, *, codex: bool) -> bool:
    """Tell whether a file holds hook payloads of this runtime."""
    return b'"hook_event_name"' in head and (_CODEX.search(head) is not None) is codex


def lineage(name: str, head: bytes) -> str:
    """Return the session of the first payload: logs with one file an event are read together."""
    found = _SESSION.search(head)
    return found.group(1).decode("utf-8", "replace") if found else name


def translate(files: Sequence[SourceFile], *, adapter: str, runtime: str) -> Translation:
    """Return the events of payload files, by session; prompts first, then calls, whatever order the files have.

    Without times nobody knows when a turn ended, so nothing says that it did.
    """
    logs: dict[str, _Log] = {}
    tallies: dict[str, Tally] = {}
    problems: list[Problem] = []
    session = ""
    for file in sorted(files, key=_stage):
        tally = tallies.setdefault(file.uri, Tally())
        found = list(records(file))
        for index, item in enumerate(found):
            if isinstance(item, Problem):
                problems.append(item)
                continue
            tally.records += 1
            session = text(_payload(item).get("session_id")) or session
            log = logs.setdefault(session, _Log(runtime, session))
            at = _received(item.value)
            log.timed = log.timed and at is not None
            if at is None and file.modified_at is not None:
                at = file.modified_at - timedelta(milliseconds=len(found) - index)
            if at is None:
                tally.skipped["hook without a time"] += 1
            else:
                log.add(_payload(item), _Spot(at, file.uri, item.number, tally))
    events = [event for log in logs.values() for event in _events(log, adapter)]
    counts = {uri: tally.counts() for uri, tally in tallies.items()}
    return Translation(events=tuple(events), problems=tuple(problems), files=counts)


def _events(log: _Log, adapter: str) -> Iterator[ToolEvent]:
    home = Home(adapter=adapter, runtime=log.runtime, session_id=log.session_id)
    for turn in log.turns.values():
        turn.at = min([turn.at, *(seen.at for seen, _, _ in turn.calls)])
        told = turn_events(turn, home)
        yield from told if log.timed else told[:-1]


def _payload(item: Line) -> dict[str, Any]:
    """The hook's own payload; some loggers wrap it."""
    return mapping(item.value.get("payload")) or item.value


def _stage(file: SourceFile) -> tuple[int, str]:
    """Logs with one file an event: what came before in a call's life is read first."""
    order = ("session_start", "prompt_submit", "pre", "post", "stop", "session_end")
    name = file.uri.lower().replace("-", "_").rpartition("/")[2]
    return next((place for place, part in enumerate(order) if part in name), len(order)), file.uri


def _adapter(name: str, runtime: str) -> Adapter:
    return Adapter(
        name=name,
        runtime=runtime,
        recognises=partial(recognises, codex=runtime == CODEX),
        lineage=lineage,
        translate=partial(translate, adapter=name, runtime=runtime),
    )


CLAUDE_HOOKS = _adapter("claude-hooks", CLAUDE)
CODEX_HOOKS = _adapter("codex-hooks", CODEX)
