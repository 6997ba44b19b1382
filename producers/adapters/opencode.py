"""OpenCode sessions to events: exports with messages and parts, and the stream of part updates.

The same part is told again at each change of its state: the last one of an id wins. Times are milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from producers.lines import Problem
from producers.observed import Observed
from producers.records import mapping, records, sequence, text, whole
from producers.times import from_millis
from producers.translation import Adapter, SourceFile, Translation
from producers.turns import Home, TurnBook, turn_events
from streams.events import ToolEvent, ToolStatus, Usage

NAME = "opencode-session"
RUNTIME = "opencode"

_SESSION = re.compile(rb'"sessionID"\s*:\s*"([^"]+)"')


class _Store:
    """Messages and their parts, the newest of each id."""

    def __init__(self) -> None:
        self.messages: dict[str, dict[str, Any]] = {}
        self.parts: dict[str, dict[str, dict[str, Any]]] = {}
        self.lines: dict[str, int] = {}

    def add(self, value: dict[str, Any], number: int) -> None:
        """Take in an export, a message, or an update of either."""
        told = mapping(value.get("properties")) or value
        for message in sequence(told.get("messages")):
            self.add(mapping(message), number)
        info = mapping(told.get("info"))
        if text(info.get("role")):
            self.messages[text(info.get("id"))] = info
            self.lines.setdefault(text(info.get("id")), number)
        for part in [*sequence(told.get("parts")), told.get("part")]:
            known = mapping(part)
            if text(known.get("id")):
                self.parts.setdefault(text(known.get("messageID")), {})[text(known.get("id"))] = known


def recognises(name: str, head: bytes) -> bool:
    """Tell whether a file is an OpenCode session, by its first bytes."""
    return b'"sessionID"' in head and (b'"callID"' in head or b'"parts"' in head or b'"part"' in head)


def lineage(name: str, head: bytes) -> str:
    """Return the session of a file."""
    found = _SESSION.search(head)
    return found.group(1).decode("utf-8", "replace") if found else name


def translate(files: Sequence[SourceFile]) -> Translation:
    """Return the events of one session's files."""
    problems: list[Problem] = []
    events: list[ToolEvent] = []
    counts = {}
    for file in files:
        store, book, session_id = _Store(), TurnBook(file.uri, RUNTIME), lineage(file.uri, bytes(file.data[: 1 << 20]))
        for item in records(file):
            if isinstance(item, Problem):
                problems.append(item)
            else:
                book.tally.records += 1
                store.add(item.value, item.number)
        for own, info in sorted(store.messages.items(), key=lambda pair: (_created(pair[1]), pair[0])):
            _message(book, session_id, info, list(store.parts.get(own, {}).values()), store.lines[own])
        home = Home(adapter=NAME, runtime=RUNTIME, session_id=session_id)
        events += [event for turn in book.turns for event in turn_events(turn, home)]
        counts[file.uri] = book.tally.counts()
    return Translation(events=tuple(events), problems=tuple(problems), files=counts)


def _created(info: dict[str, Any]) -> int:
    return whole(mapping(info.get("time")).get("created")) or 0


def _message(
    book: TurnBook, session_id: str, info: dict[str, Any], parts: Sequence[dict[str, Any]], number: int
) -> None:
    at = from_millis(mapping(info.get("time")).get("created"))
    if at is None:
        book.tally.skipped["message without a time"] += 1
        return
    book.cwd = text(mapping(info.get("path")).get("cwd")) or book.cwd
    if info.get("role") == "user":
        prompt = "\n".join(text(part.get("text")) for part in parts if part.get("type") == "text")
        book.begin(session_id, text(info.get("id")), at=at, line=number, prompt=prompt)
        return
    if not book.turns:
        book.begin(session_id, text(info.get("parentID")) or text(info.get("id")), at=at, line=number)
    turn = book.turns[-1]
    turn.cwd, turn.model = turn.cwd or book.cwd, text(info.get("modelID")) or turn.model
    for part in parts:
        if part.get("type") == "tool":
            _call(book, part, number)
    tokens = mapping(info.get("tokens"))
    cache = mapping(tokens.get("cache"))
    if tokens:
        book.spend(
            Usage(
                input_uncached=whole(tokens.get("input")) or 0,
                input_cached=whole(cache.get("read")) or 0,
                cache_write=whole(cache.get("write")) or 0,
                output=(whole(tokens.get("output")) or 0) + (whole(tokens.get("reasoning")) or 0),
            )
        )
    completed = from_millis(mapping(info.get("time")).get("completed"))
    if completed is not None:
        turn.last_at = max(turn.last_at, completed)
        turn.reason = "stop" if info.get("finish") == "stop" else turn.reason


def _call(book: TurnBook, part: dict[str, Any], number: int) -> None:
    state = mapping(part.get("state"))
    times = mapping(state.get("time"))
    at = from_millis(times.get("start")) or book.turns[-1].last_at
    seen = book.call(
        Observed(
            call_id=text(part.get("callID")) or text(part.get("id")),
            name=text(part.get("tool")) or "unknown",
            input=mapping(state.get("input")),
            at=at,
            line=number,
        )
    )
    status = text(state.get("status"))
    if status not in ("completed", "error"):
        return
    shown = text(state.get("output")) or text(state.get("error"))
    book.finish(seen, shown, from_millis(times.get("end")), failed=status == "error")
    code = whole(mapping(state.get("metadata")).get("exit"))
    seen.exit_code = code
    if code:
        seen.status, seen.extra = ToolStatus.ERROR, {"error_kind": "exit_code"}


ADAPTER = Adapter(name=NAME, runtime=RUNTIME, recognises=recognises, lineage=lineage, translate=translate)
