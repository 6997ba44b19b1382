"""Claude Code session transcripts to events: one invocation from a user's prompt to the next.

Calls and results are joined by `tool_use_id`, never by position: parallel calls answer out of order. A subagent's
calls belong to the invocation that started it. History that a resumed session copied into its file is told once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from producers.adapters.claude_session import RUNTIME, Session
from producers.lines import Line, json_lines
from producers.translation import Adapter, FileCounts, SourceFile, Translation
from producers.turns import Home, Tally, Turn, turn_events
from streams.events import ToolEvent, Usage

NAME = "claude-transcript"

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LINE_TYPE = re.compile(rb'"type"\s*:\s*"(?:user|assistant|system|progress|attachment|summary|file-history-snapshot)"')


def recognises(name: str, head: bytes) -> bool:
    """Tell whether a file is a transcript, by its first bytes."""
    envelope = b'"sessionId"' in head or b'"parentUuid"' in head or b'"leafUuid"' in head or b'"messageId"' in head
    other = b'"projectHash"' in head
    return name.endswith(".jsonl") and envelope and not other and _LINE_TYPE.search(head) is not None


def lineage(name: str, head: bytes) -> str:
    """Return the session of a file: its own name when that is a session id, else what its first lines say.

    A subagent's file names its parent's session in every line, so that both are translated together.
    """
    path = PurePath(name)
    if _UUID.fullmatch(path.stem):
        return path.stem
    for item in json_lines(head, name):
        session = item.value.get("sessionId") if isinstance(item, Line) else None
        if isinstance(session, str) and session:
            return session if path.stem.startswith("agent-") else f"{session}@{name}"
    return name


def translate(files: Sequence[SourceFile]) -> Translation:
    """Return the events of one session's files, whatever their order; the same bytes give the same events."""
    session = Session()
    for file in sorted(files, key=lambda item: (PurePath(item.uri).stem.startswith("agent-"), item.uri)):
        session.add(file)
    home = Home(adapter=NAME, runtime=RUNTIME, session_id=_own_session(files))
    events: list[ToolEvent] = []
    for turn in session.turns:
        turn.usage = _usage(turn, session)
        events += turn_events(turn, home)
    counts = {uri: _counts(uri, tally, session) for uri, tally in session.tallies.items()}
    return Translation(events=tuple(events), problems=tuple(session.problems), files=counts)


def _own_session(files: Sequence[SourceFile]) -> str:
    """The session that the main file's name says; empty when no name is a session id."""
    stems = [PurePath(file.uri).stem for file in files]
    return next((stem for stem in stems if _UUID.fullmatch(stem)), "")


def _usage(turn: Turn, session: Session) -> Usage | None:
    spent = [session.usage[message] for message in session.messages.get(turn.invocation_id, ())]
    if not spent:
        return None
    partial = any(item.get("output_tokens", 0) <= 2 for item in spent)

    def total(name: str) -> int:
        return sum(item.get(name, 0) for item in spent)

    return Usage(
        input_uncached=total("input_tokens"),
        input_cached=total("cache_read_input_tokens"),
        cache_write=total("cache_creation_input_tokens"),
        output=total("output_tokens"),
        quality="partial" if partial else "native",
    )


def _counts(uri: str, tally: Tally, session: Session) -> FileCounts:
    for message in session.messages_in.get(uri, ()):
        tally.spend(session.usage[message].get("output_tokens", 0))
    return tally.counts()


ADAPTER = Adapter(name=NAME, runtime=RUNTIME, recognises=recognises, lineage=lineage, translate=translate)
