"""Gemini CLI sessions to events: the whole-file JSON that is written anew, and the newer lines that are appended.

A message may be written again with more calls: the last writing of an id wins. Call ids are unique in their session.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from producers.lines import Problem
from producers.observed import Observed
from producers.records import mapping, records, sequence, text, whole
from producers.times import instant
from producers.translation import Adapter, SourceFile, Translation
from producers.turns import Home, TurnBook, turn_events
from streams.events import ToolEvent, ToolStatus, Usage

NAME = "gemini-session"
RUNTIME = "gemini-cli"

_SESSION = re.compile(rb'"sessionId"\s*:\s*"([^"]+)"')
_STATUS = {"error": ToolStatus.ERROR, "cancelled": ToolStatus.INTERRUPTED, "rejected": ToolStatus.DENIED}


def recognises(name: str, head: bytes) -> bool:
    """Tell whether a file is a Gemini session, by its first bytes."""
    return b'"sessionId"' in head and (b'"projectHash"' in head or b'"gemini"' in head)


def lineage(name: str, head: bytes) -> str:
    """Return the session of a file; it may be looked for at the end of a short one."""
    found = _SESSION.search(head)
    return found.group(1).decode("utf-8", "replace") if found else name


def translate(files: Sequence[SourceFile]) -> Translation:
    """Return the events of one session's files."""
    messages: dict[str, tuple[dict[str, Any], str, int]] = {}
    problems: list[Problem] = []
    session_id = ""
    for file in files:
        for item in records(file):
            if isinstance(item, Problem):
                problems.append(item)
                continue
            value = mapping(item.value.get("$set")) or item.value
            session_id = session_id or text(value.get("sessionId"))
            for nth, message in enumerate(sequence(value.get("messages")) or [value]):
                own = text(mapping(message).get("id"))
                if own:
                    messages[own] = (mapping(message), file.uri, item.number + nth)
    books = {file.uri: TurnBook(file.uri, RUNTIME) for file in files}
    for own, (message, uri, number) in messages.items():
        _message(books[uri], session_id, own, message, number)
    home = Home(adapter=NAME, runtime=RUNTIME, session_id=session_id or files[0].uri)
    events: list[ToolEvent] = []
    for book in books.values():
        events += [event for turn in book.turns for event in turn_events(turn, home)]
    counts = {uri: book.tally.counts() for uri, book in books.items()}
    return Translation(events=tuple(events), problems=tuple(problems), files=counts)


def _message(book: TurnBook, session_id: str, own: str, message: dict[str, Any], number: int) -> None:
    at, kind = instant(message.get("timestamp")), message.get("type")
    book.tally.records += 1
    if at is None or kind not in ("user", "gemini"):
        book.tally.skipped["message without a time" if at is None else f"message: {text(kind)[:60]}"] += 1
        return
    if kind == "user":
        book.begin(session_id, own, at=at, line=number, prompt=_content(message.get("content")))
        return
    if not book.turns:
        book.begin(session_id, own, at=at, line=number)
    book.turns[-1].last_at = max(book.turns[-1].last_at, at)
    book.turns[-1].model = text(message.get("model")) or book.turns[-1].model
    for call in sequence(message.get("toolCalls")):
        _call(book, mapping(call), message, number)
    tokens = {name: whole(value) or 0 for name, value in mapping(message.get("tokens")).items()}
    if tokens:
        cached = tokens.get("cached", 0)
        output = tokens.get("output", 0) + tokens.get("thoughts", 0)
        book.spend(Usage(input_uncached=tokens.get("input", 0) - cached, input_cached=cached, output=output))


def _call(book: TurnBook, call: dict[str, Any], message: dict[str, Any], number: int) -> None:
    at = instant(message.get("timestamp"))
    done = instant(call.get("timestamp")) or at
    if at is None:
        return
    name, args = text(call.get("name")) or "unknown", mapping(call.get("args"))
    seen = book.call(Observed(call_id=text(call.get("id")), name=name, input=args, at=at, line=number))
    status = text(call.get("status"))
    if call.get("result") is None and status not in _STATUS:
        return
    shown, failed = _result(call.get("result"))
    book.finish(seen, shown, done, failed=failed or status == "error")
    seen.status = _STATUS.get(status)


def _result(result: Any) -> tuple[str, bool]:
    """The text of a result and whether it says that the call failed."""
    if isinstance(result, str):
        return result, False
    parts: list[str] = []
    failed = False
    for part in sequence(result):
        response = mapping(mapping(mapping(part).get("functionResponse")).get("response"))
        failed = failed or "error" in response
        shown = response.get("output", response.get("error", mapping(part).get("text", "")))
        parts.append(shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False))
    return "\n".join(parts), failed


def _content(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(text(mapping(part).get("text")) for part in content)
    return text(content)


ADAPTER = Adapter(name=NAME, runtime=RUNTIME, recognises=recognises, lineage=lineage, translate=translate)
