"""One observed call to one `ToolCalled`: its name, safe input, result, what it touched and what it showed."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from producers import identity, recalls, touches
from producers.observed import Observed
from producers.redact import clean, redact_input
from producers.tools import canonical
from streams.events import (
    AgentId,
    InvocationId,
    SessionId,
    Source,
    TokenCost,
    ToolCalled,
    ToolStatus,
    ToolUseId,
)
from streams.recall import RecallOutcome
from streams.tokens import estimate_tokens

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d+)\b")
_DENIED = (
    ("The user doesn't want to proceed with this tool use", "user_rejected"),
    ("The user doesn't want to take this action right now", "user_rejected"),
    ("Claude requested permissions to", "permission_denied"),
    ("Permission to use", "permission_denied"),
)
_INTERRUPTED = ("[Request interrupted by user", "Request interrupted by user", "Interrupted by user")
_OWN_EXTRA = frozenset({"error_kind", "told"})
_TRUNCATED = re.compile(r"<persisted-output>|\[\d+ lines truncated\]|output truncated|\(Results are truncated", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """Where in the work a call was made: the fields that all events of one thread of work share."""

    adapter: str
    runtime: str
    uri: str
    agent_id: str
    invocation_id: InvocationId
    session_id: str
    root_session_id: str


def called(seen: Observed, seat: Seat) -> ToolCalled:
    """Return the event of a call: the same each time, but a finished call has another id than an open one."""
    tool = seen.tool or canonical(seat.runtime, seen.name)
    status, error_kind, exit_code = verdict(seen)
    text = clean(seen.text or "")
    call_id, scope, quality = _call_identity(seen, seat)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() if seen.text is not None else None
    outcome = recalls.outcome_of(tool, seen, text=text, status=status)
    safe_input = redact_input(seen.input)
    return ToolCalled(
        event_id=identity.event_id("call", seat.runtime, seat.adapter, scope, call_id, status.value, digest or ""),
        occurred_at=seen.at,
        agent_id=AgentId(seat.agent_id),
        runtime=seat.runtime,
        source=Source(adapter=seat.adapter, uri=seat.uri, position=seen.line),
        invocation_id=seat.invocation_id,
        session_id=SessionId(seat.session_id),
        root_session_id=SessionId(seat.root_session_id),
        thread_id=seat.session_id,
        tool_use_id=ToolUseId(call_id),
        id_quality=quality,
        turn_index=seen.turn_index,
        tool=tool,
        tool_raw=seen.name,
        input=safe_input,
        status=status,
        error_kind=error_kind,
        exit_code=exit_code,
        ended_at=max(seen.ended_at, seen.at) if seen.ended_at is not None else None,
        cwd=seen.cwd,
        context_epoch=seen.epoch,
        tokens=_cost(outcome, text) if outcome is not None else TokenCost(),
        result_digest=digest,
        result_bytes=len(text.encode("utf-8", "replace")) if seen.text is not None else None,
        result_truncated=_is_truncated(seen, text),
        touched=(seen.touched or touches.touched(tool, seen)) if status is ToolStatus.OK else (),
        recall=outcome,
        extra={name: value for name, value in seen.extra.items() if name not in _OWN_EXTRA},
    )


def _call_identity(seen: Observed, seat: Seat) -> tuple[str, str, identity.IdQuality]:
    if seen.call_id:
        scope, quality = identity.call_scope(seen.call_id, seat.session_id)
        return seen.call_id, scope, quality
    made = identity.synthetic_call_id(seat.session_id, seat.agent_id, seen.name, seen.input, seen.nth)
    return made, seat.session_id, "synthetic"


def verdict(seen: Observed) -> tuple[ToolStatus, str | None, int | None]:
    """Return status, error kind and exit code of a call. A call without a result was interrupted.

    A user's refusal is `denied`, not an error: it says nothing about the tool.
    """
    if seen.status is not None:
        kind = None if seen.status is ToolStatus.OK else str(seen.extra.get("error_kind", seen.status.value))
        return seen.status, kind, seen.exit_code
    if seen.text is None:
        return ToolStatus.INTERRUPTED, "interrupted", None
    if not seen.is_error:
        return ToolStatus.OK, None, seen.exit_code
    text = seen.text.lstrip()
    if text.startswith(_INTERRUPTED):
        return ToolStatus.INTERRUPTED, "interrupted", None
    for opening, kind in _DENIED:
        if text.startswith(opening):
            return ToolStatus.DENIED, kind, None
    exited = _EXIT_CODE.match(text)
    if exited:
        return ToolStatus.ERROR, "exit_code", int(exited.group(1))
    if text.startswith("<tool_use_error>"):
        return ToolStatus.ERROR, "tool_use_error", None
    return ToolStatus.ERROR, "mcp_error" if seen.name.startswith("mcp__") else "error", seen.exit_code


def _cost(outcome: RecallOutcome, text: str) -> TokenCost:
    return TokenCost(result=estimate_tokens(text), query=estimate_tokens(outcome.query), quality="estimated")


def _is_truncated(seen: Observed, text: str) -> bool:
    told = seen.structured if isinstance(seen.structured, dict) else {}
    if told.get("truncated") is True or told.get("appliedLimit") or told.get("persistedOutputPath"):
        return True
    return _TRUNCATED.search(text[:200]) is not None or _TRUNCATED.search(text[-400:]) is not None
