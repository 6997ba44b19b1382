"""Traffic of an MCP server, as a tap writes it down, to events: requests `tools/call` and their responses.

A line is a JSON-RPC message, bare or as `message` of an envelope with `server`, `session_id` and `at`. JSON-RPC ids
repeat in every session, and the agent's own call id is not sent: calls are named by session, direction and id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import PurePath
from typing import Any

from producers.lines import Line, Problem
from producers.observed import Observed
from producers.records import mapping, records, sequence, text
from producers.times import from_millis, instant
from producers.translation import Adapter, SourceFile, Translation
from producers.turns import Home, Tally, TurnBook, turn_events
from streams.events import ToolEvent, ToolStatus

NAME = "mcp-tap"
RUNTIME = "mcp"

_RPC = re.compile(rb'"jsonrpc"\s*:\s*"2\.0"')
_SESSION = re.compile(rb'"session_id"\s*:\s*"([^"]+)"')


def recognises(name: str, head: bytes) -> bool:
    """Tell whether a file holds JSON-RPC messages, by its first bytes."""
    return _RPC.search(head) is not None


def lineage(name: str, head: bytes) -> str:
    """Return the session of a file, else the file itself."""
    found = _SESSION.search(head)
    return found.group(1).decode("utf-8", "replace") if found else name


def translate(files: Sequence[SourceFile]) -> Translation:
    """Return the events of the traffic: a session is one invocation, for a server sees no prompts."""
    events: list[ToolEvent] = []
    problems: list[Problem] = []
    counts = {}
    for file in files:
        taps: dict[str, _Tap] = {}
        tally = Tally()
        found = list(records(file))
        for index, item in enumerate(found):
            if isinstance(item, Problem):
                problems.append(item)
                continue
            session = text(item.value.get("session_id")) or PurePath(file.uri).stem
            tap = taps.setdefault(session, _Tap(file.uri, session, tally))
            tap.add(item, _at(item.value, file, len(found) - index))
        for tap in taps.values():
            home = Home(adapter=NAME, runtime=RUNTIME, session_id=tap.session)
            events += [event for turn in tap.book.turns for event in turn_events(turn, home)]
        counts[file.uri] = tally.counts()
    return Translation(events=tuple(events), problems=tuple(problems), files=counts)


def _at(value: dict[str, Any], file: SourceFile, before_end: int) -> datetime | None:
    for name in ("at", "received_at", "timestamp"):
        if name in value:
            return instant(value[name]) or from_millis(value[name])
    return None if file.modified_at is None else file.modified_at - timedelta(milliseconds=before_end)


class _Tap:
    """Folds the messages of one session."""

    def __init__(self, uri: str, session: str, tally: Tally) -> None:
        self.book = TurnBook(uri, RUNTIME)
        self.book.tally = tally
        self.session = session
        self._open: dict[str, Observed] = {}

    def add(self, line: Line, at: datetime | None) -> None:
        """Take in one message."""
        message = mapping(line.value.get("message")) or line.value
        self.book.tally.records += 1
        server = text(line.value.get("server")) or "server"
        own = f"{server}/{json.dumps(message.get('id'))}"
        if at is None:
            self.book.tally.skipped["message without a time"] += 1
        elif message.get("method") == "tools/call" and "id" in message:
            self._asked(own, server, mapping(message.get("params")), at, line.number)
        elif "method" not in message and own in self._open:
            self._answered(self._open.pop(own), message, at)
        else:
            self.book.tally.skipped[f"message: {text(message.get('method')) or 'response'}"] += 1

    def _asked(self, own: str, server: str, params: dict[str, Any], at: datetime, number: int) -> None:
        if not self.book.turns:
            self.book.begin(self.session, at=at, line=number)
        meta = mapping(params.get("_meta"))
        seen = Observed(
            call_id=text(meta.get("trodden/tool_use_id")) or own,
            name=f"mcp__{server}__{text(params.get('name')) or 'unknown'}",
            input=mapping(params.get("arguments")),
            at=at,
            line=number,
        )
        self._open[own] = self.book.call(seen)

    def _answered(self, seen: Observed, message: dict[str, Any], at: datetime) -> None:
        result, error = mapping(message.get("result")), mapping(message.get("error"))
        failed = bool(error) or result.get("isError") is True
        seen.structured = result.get("structuredContent")
        shown = "\n".join(_block(mapping(block)) for block in sequence(result.get("content")))
        if not shown and isinstance(seen.structured, list | dict):
            shown = json.dumps(seen.structured, ensure_ascii=False)
        self.book.finish(seen, text(error.get("message")) if error else shown, at, failed=failed)
        if failed:
            seen.status, kind = ToolStatus.ERROR, "protocol_error" if error else "mcp_error"
            seen.extra = {"error_kind": kind}


def _block(block: dict[str, Any]) -> str:
    inner = mapping(block.get("resource"))
    return text(block.get("text")) or text(block.get("uri")) or text(inner.get("text")) or text(inner.get("uri"))


ADAPTER = Adapter(name=NAME, runtime=RUNTIME, recognises=recognises, lineage=lineage, translate=translate)
