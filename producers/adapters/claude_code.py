"""Claude Code session transcripts to events: one invocation from a user's prompt to the next.

Calls and results are joined by `tool_use_id`, never by position: parallel calls answer out of order. A subagent's
calls belong to the invocation that started it. History that a resumed session copied into its file is told once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from producers import identity
from producers.adapters.claude_session import RUNTIME, Session, Tally, Turn
from producers.calls import Seat, called
from producers.lines import Line, json_lines
from producers.prompts import MAX_NAMED, shown_prompt
from producers.redact import clean
from producers.translation import Adapter, FileCounts, SourceFile, Translation
from streams.events import (
    AgentId,
    InvocationEnded,
    InvocationStarted,
    SessionId,
    Source,
    ToolEvent,
    Usage,
)

NAME = "claude-transcript"

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LINE_TYPE = re.compile(rb'"type"\s*:\s*"(?:user|assistant|system|progress|attachment|summary|file-history-snapshot)"')


def recognises(name: str, head: bytes) -> bool:
    """Tell whether a file is a transcript, by its first bytes."""
    envelope = b'"sessionId"' in head or b'"parentUuid"' in head or b'"leafUuid"' in head or b'"messageId"' in head
    return name.endswith(".jsonl") and envelope and _LINE_TYPE.search(head) is not None


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
    own = _own_session(files)
    events = [event for turn in session.turns for event in _events(turn, session, own)]
    counts = {uri: _counts(tally, session) for uri, tally in session.tallies.items()}
    return Translation(events=tuple(events), problems=tuple(session.problems), files=counts)


def _own_session(files: Sequence[SourceFile]) -> str:
    """The session that the main file's name says; empty when no name is a session id."""
    stems = [PurePath(file.uri).stem for file in files]
    return next((stem for stem in stems if _UUID.fullmatch(stem)), "")


def _events(turn: Turn, session: Session, own_session: str) -> list[ToolEvent]:
    session_id = own_session or turn.session_id
    agents = {agent for _, agent, _ in turn.calls}
    owner = RUNTIME if turn.trigger != "agent" or not agents else min(agents)
    events: list[ToolEvent] = [_started(turn, session_id, owner)]
    for seen, agent, uri in turn.calls:
        seat = Seat(
            adapter=NAME,
            runtime=RUNTIME,
            uri=uri,
            agent_id=agent,
            invocation_id=turn.invocation_id,
            session_id=session_id,
            root_session_id=session_id,
        )
        events.append(called(seen, seat))
    events.append(_ended(turn, session, session_id, owner))
    return events


def _started(turn: Turn, session_id: str, owner: str) -> InvocationStarted:
    return InvocationStarted(
        event_id=identity.event_id("started", RUNTIME, turn.invocation_id),
        occurred_at=turn.at,
        agent_id=AgentId(owner),
        runtime=RUNTIME,
        source=Source(adapter=NAME, uri=turn.uri, position=turn.line),
        invocation_id=turn.invocation_id,
        session_id=SessionId(session_id),
        root_session_id=SessionId(session_id),
        thread_id=session_id,
        trigger=turn.trigger,
        prompt=shown_prompt(turn.prompt),
        named_targets=tuple(clean(name) for name in dict.fromkeys(turn.named))[:MAX_NAMED],
        cwd=turn.cwd,
        context_epoch=turn.epoch,
        model=turn.model,
    )


def _ended(turn: Turn, session: Session, session_id: str, owner: str) -> InvocationEnded:
    calls = len(turn.calls)
    return InvocationEnded(
        event_id=identity.event_id(
            "ended", RUNTIME, turn.invocation_id, turn.last_at.isoformat(), turn.reason, str(calls)
        ),
        occurred_at=turn.last_at,
        agent_id=AgentId(owner),
        runtime=RUNTIME,
        source=Source(adapter=NAME, uri=turn.uri, position=turn.line),
        invocation_id=turn.invocation_id,
        session_id=SessionId(session_id),
        root_session_id=SessionId(session_id),
        thread_id=session_id,
        reason=turn.reason,
        usage=_usage(turn, session),
        calls=calls,
    )


def _usage(turn: Turn, session: Session) -> Usage | None:
    spent = [session.usage[message] for message in turn.messages]
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


def _counts(tally: Tally, session: Session) -> FileCounts:
    outputs = [session.usage[message].get("output_tokens", 0) for message in tally.messages]
    return FileCounts(
        records=tally.records,
        calls=len(tally.calls),
        results=tally.results,
        errors=tally.errors,
        pending=sum(seen.text is None for seen in tally.calls),
        repeated=tally.repeated,
        tokens_output=sum(outputs) if outputs else None,
        skipped=dict(tally.skipped),
    )


ADAPTER = Adapter(name=NAME, runtime=RUNTIME, recognises=recognises, lineage=lineage, translate=translate)
