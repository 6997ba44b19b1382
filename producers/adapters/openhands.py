"""OpenHands conversations to events: one JSON object an event, in one file a conversation or one file an event.

Times have no zone and are taken as UTC. An exit code of 1 is a normal answer there, not an error of the tool.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from producers.lines import Problem
from producers.observed import Observed
from producers.records import mapping, records, sequence, text, whole
from producers.times import instant
from producers.translation import Adapter, SourceFile, Translation
from producers.turns import Home, TurnBook, turn_events
from streams.events import ToolEvent, ToolStatus

NAME = "openhands-events"
RUNTIME = "openhands"

_KIND = re.compile(
    rb'"kind"\s*:\s*"(?:ActionEvent|ObservationEvent|MessageEvent|SystemPromptEvent|ConversationStateUpdateEvent'
    rb'|UserRejectObservation|AgentErrorEvent|Condensation)"'
)
_EDITOR = {"view": "Read", "create": "Write", "str_replace": "Edit", "insert": "Edit", "undo_edit": "Edit"}


def recognises(name: str, head: bytes) -> bool:
    """Tell whether a file holds OpenHands events, by its first bytes."""
    return _KIND.search(head) is not None and b'"source"' in head


def lineage(name: str, head: bytes) -> str:
    """Return the conversation: the file's own name, or its folder where every event has a file."""
    path = PurePath(name)
    return str(path.parent) if path.stem.startswith("event-") else name


def translate(files: Sequence[SourceFile]) -> Translation:
    """Return the events of one conversation."""
    ordered = sorted(files, key=lambda file: file.uri)
    conversation = PurePath(lineage(ordered[0].uri, b"")).name.removesuffix(".jsonl")
    problems: list[Problem] = []
    counts = {}
    calls: dict[str, tuple[Observed, TurnBook]] = {}
    books: list[TurnBook] = []
    for file in ordered:
        book = TurnBook(file.uri, RUNTIME)
        if books:
            book.turns = books[0].turns
        books.append(book)
        for item in records(file):
            if isinstance(item, Problem):
                problems.append(item)
            else:
                book.tally.records += 1
                _event(book, calls, conversation, item.value, item.number)
        counts[file.uri] = book
    home = Home(adapter=NAME, runtime=RUNTIME, session_id=conversation)
    events: list[ToolEvent] = [event for turn in books[0].turns for event in turn_events(turn, home)]
    tallies = {uri: book.tally.counts() for uri, book in counts.items()}
    return Translation(events=tuple(events), problems=tuple(problems), files=tallies)


def _event(
    book: TurnBook,
    calls: dict[str, tuple[Observed, TurnBook]],
    conversation: str,
    value: dict[str, Any],
    number: int,
) -> None:
    kind, at = text(value.get("kind")), instant(value.get("timestamp"))
    if at is None:
        book.tally.skipped["event without a time"] += 1
    elif kind == "MessageEvent" and value.get("source") == "user":
        said = mapping(value.get("llm_message")).get("content") or value.get("content")
        book.begin(conversation, text(value.get("id")), at=at, line=number, prompt=_content(said))
    elif kind == "ActionEvent" and value.get("tool_name"):
        if not book.turns:
            book.begin(conversation, "first", at=at, line=number)
        seen = book.call(_asked(value, at, number))
        calls[seen.call_id] = (seen, book)
    elif kind in ("ObservationEvent", "UserRejectObservation", "AgentErrorEvent"):
        seen_in = calls.get(text(value.get("tool_call_id")))
        if seen_in is None:
            book.tally.skipped["result without its call"] += 1
        else:
            _answered(*seen_in, kind, value, at)
    elif kind == "Condensation":
        book.epoch += 1
    else:
        book.tally.skipped[f"event: {kind[:60]}"] += 1


def _asked(value: dict[str, Any], at: Any, number: int) -> Observed:
    name = text(value.get("tool_name"))
    action = {key: item for key, item in mapping(value.get("action")).items() if key != "kind" and item is not None}
    tool = ""
    if name in ("file_editor", "str_replace_editor"):
        tool = _EDITOR.get(text(action.get("command")), "Edit")
        span = sequence(action.get("view_range"))
        if len(span) == 2 and all(isinstance(edge, int) for edge in span) and span[1] >= span[0]:
            action |= {"offset": span[0], "limit": span[1] - span[0] + 1}
    return Observed(call_id=text(value.get("tool_call_id")), name=name, tool=tool, input=action, at=at, line=number)


def _answered(seen: Observed, book: TurnBook, kind: str, value: dict[str, Any], at: Any) -> None:
    observation = mapping(value.get("observation"))
    shown = _content(observation.get("content")) or text(value.get("error")) or text(value.get("rejection_reason"))
    failed = observation.get("is_error") is True or kind == "AgentErrorEvent"
    book.finish(seen, shown, at, failed=failed)
    code = whole(observation.get("exit_code"))
    if code is None:
        code = whole(mapping(observation.get("metadata")).get("exit_code"))
    seen.exit_code = code if code != -1 else None
    seen.cwd = text(mapping(observation.get("metadata")).get("working_dir")) or seen.cwd
    if kind == "UserRejectObservation":
        seen.status, seen.extra = ToolStatus.DENIED, {"error_kind": "user_rejected"}


def _content(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(text(mapping(part).get("text")) for part in content)
    return text(content)


ADAPTER = Adapter(name=NAME, runtime=RUNTIME, recognises=recognises, lineage=lineage, translate=translate)
