"""The stream of `codex exec --json` to events: one invocation a turn.

The stream has neither times nor call ids: `item_3` is unique only in its run. A run is named by its thread and the
first words it holds; where a rollout of the same thread exists, read that instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from producers import identity
from producers.adapters import codex_results
from producers.adapters.codex import RUNTIME
from producers.lines import Line, Problem, json_lines
from producers.observed import Observed
from producers.records import mapping, sequence, text, whole
from producers.touches import absolute
from producers.translation import Adapter, SourceFile, Translation
from producers.turns import Home, TurnBook, turn_events
from streams.events import ToolEvent, ToolStatus, Touch

NAME = "codex-exec"

_THREAD = re.compile(rb'"thread\.started"\s*,\s*"thread_id"\s*:\s*"([^"]+)"')
_PATCHED: dict[str, Any] = {"add": "write", "update": "edit", "delete": "delete"}


def _at(file: SourceFile, index: int, count: int) -> datetime | None:
    """Records come in order before the file's last change; nothing better is known."""
    return None if file.modified_at is None else file.modified_at - timedelta(milliseconds=count - index)


def _asked(item: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    kind = text(item.get("type"))
    if kind == "command_execution":
        return kind, {"command": _bare(text(item.get("command")))}
    if kind == "file_change":
        return kind, {"changes": sequence(item.get("changes"))}
    if kind == "mcp_tool_call":
        return f"mcp__{text(item.get('server'))}__{text(item.get('tool'))}", mapping(item.get("arguments"))
    return (kind, {"query": text(item.get("query"))}) if kind == "web_search" else None


def _bare(command: str) -> str:
    """A command comes wrapped as `bash -lc 'cat x'`; the grammar reads both, people only one."""
    found = re.fullmatch(r"(?:/\S*/)?(?:ba|z)?sh -l?c (?:'(?P<quoted>[^']*)'|(?P<plain>\S+))", command)
    return (found["quoted"] or found["plain"]) if found else command


class _Run:
    """Folds the items of one stream."""

    def __init__(self, file: SourceFile, thread: str, nonce: str) -> None:
        self.book = TurnBook(file.uri, RUNTIME)
        self._thread, self._nonce = thread, nonce
        self._calls: dict[str, Observed] = {}

    def add(self, value: dict[str, Any], at: datetime, number: int) -> None:
        """Take in one record."""
        kind = text(value.get("type"))
        self.book.tally.records += 1
        if kind == "turn.started":
            self.book.begin(self._thread, self._nonce, str(len(self.book.turns)), at=at, line=number)
        elif kind in ("item.started", "item.updated", "item.completed"):
            self._item(mapping(value.get("item")), at, number, done=kind == "item.completed")
        elif kind in ("turn.completed", "turn.failed") and self.book.turns:
            self.book.turns[-1].reason = "stop" if kind == "turn.completed" else "interrupted"
            spent = {name: whole(raw) or 0 for name, raw in mapping(value.get("usage")).items()}
            self.book.turns[-1].usage = codex_results.added(None, spent) if spent else None
            self.book.tally.spend(spent.get("output_tokens", 0))
        else:
            self.book.tally.skipped[f"record: {kind[:60]}"] += 1

    def _item(self, item: dict[str, Any], at: datetime, number: int, *, done: bool) -> None:
        asked = _asked(item)
        if asked is None:
            self.book.tally.skipped[f"item: {text(item.get('type'))[:60]}"] += 1
            return
        if not self.book.turns:
            self.book.begin(self._thread, self._nonce, "0", at=at, line=number)
        key = text(item.get("id"))
        seen = self._calls.get(key)
        if seen is None:
            name, tool_input = asked
            seen = Observed(call_id=f"{self._nonce}/{key}", name=name, input=tool_input, at=at, line=number)
            self._calls[key] = self.book.call(seen)
        if done:
            self._done(item, seen, at)

    def _done(self, item: dict[str, Any], seen: Observed, at: datetime) -> None:
        result = mapping(item.get("result"))
        shown = text(item.get("aggregated_output")) or codex_results.output_text(result.get("content"))
        failed = item.get("status") == "failed" or bool(item.get("error"))
        seen.structured = result.get("structured_content")
        self.book.finish(seen, shown, at, failed=failed)
        if item.get("status") == "declined":
            seen.status = ToolStatus.DENIED
        elif failed and "exit_code" not in item:
            seen.status = ToolStatus.ERROR
        codex_results.ended(seen, whole(item.get("exit_code")))
        changes = [mapping(change) for change in sequence(item.get("changes"))]
        seen.touched = tuple(
            Touch(op=_PATCHED.get(text(change.get("kind")), "edit"), path=absolute(text(change.get("path")), ""))
            for change in changes
            if change.get("path")
        )


def recognises(name: str, head: bytes) -> bool:
    """Tell whether a file is such a stream, by its first bytes."""
    return b'"thread.started"' in head or (b'"item.completed"' in head and b'"item_' in head)


def lineage(name: str, head: bytes) -> str:
    """Return the thread; runs of one thread may stand in several files."""
    found = _THREAD.search(head)
    return found.group(1).decode("utf-8", "replace") if found else name


def translate(files: Sequence[SourceFile]) -> Translation:
    """Return the events of one thread's streams."""
    events: list[ToolEvent] = []
    problems: list[Problem] = []
    counts = {}
    for file in files:
        found = list(json_lines(file.data, file.uri))
        lines = [item for item in found if isinstance(item, Line)]
        problems += [item for item in found if isinstance(item, Problem)]
        thread = next((text(line.value.get("thread_id")) for line in lines if "thread_id" in line.value), file.uri)
        words = next((line.raw for line in lines if b'"text"' in line.raw), b"")
        run = _Run(file, thread, identity.event_id("run", thread, words.decode("utf-8", "replace"))[:12])
        for index, line in enumerate(lines):
            at = _at(file, index, len(lines))
            if at is None:
                run.book.tally.skipped["record without a time"] += 1
            else:
                run.add(line.value, at, line.number)
        home = Home(adapter=NAME, runtime=RUNTIME, session_id=thread)
        events += [event for turn in run.book.turns for event in turn_events(turn, home)]
        counts[file.uri] = run.book.tally.counts()
    return Translation(events=tuple(events), problems=tuple(problems), files=counts)


ADAPTER = Adapter(name=NAME, runtime=RUNTIME, recognises=recognises, lineage=lineage, translate=translate)
