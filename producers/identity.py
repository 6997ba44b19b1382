"""Ids from content: the same call, read again from anywhere, has the same id.

Neither file, line nor clock is part of an id; a session is, only where a runtime's call ids repeat between sessions.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from typing import Any, Literal

from streams.events import EventId, InvocationId

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_OID, "trodden")

_GLOBAL_ID = re.compile(
    r"toolu_\w+|srvtoolu_\w+|call_[A-Za-z0-9]{20,}|call-[0-9a-f-]{36}|chatcmpl-tool-\w+"
    r"|[0-9a-f]{32}:[0-9a-f]{16}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
"""Call ids with enough entropy to be unique in the world; a trace and its span are one, too.

Of 20,228 real ids of these forms one stood in two sessions: its call had been copied.
"""

IdQuality = Literal["native", "run_scoped", "synthetic"]


def event_id(kind: str, *parts: str) -> EventId:
    """Return the id of the event of this kind that these parts name: 128 bits of sha256, in hex."""
    return EventId(hashlib.sha256("\x1f".join((kind, *parts)).encode("utf-8", "replace")).hexdigest()[:32])


def invocation_id(*parts: str) -> InvocationId:
    """Return the id of the invocation that these parts name."""
    return InvocationId(str(uuid.uuid5(_NAMESPACE, "\x1f".join(parts))))


def call_scope(call_id: str, session_id: str) -> tuple[str, IdQuality]:
    """Return what else beside the call id is needed to name a call, and how good the id is.

    A toolu_ or UUID id needs nothing; `call_0` or `tool_1` is unique only inside its session.
    """
    if _GLOBAL_ID.fullmatch(call_id):
        return "", "native"
    return session_id, "run_scoped"


def synthetic_call_id(session_id: str, agent: str, tool: str, tool_input: dict[str, Any], nth: int) -> str:
    """Return the id of a call that has none: the nth equal call of its session, counted in order."""
    return "syn:" + event_id("call", session_id, agent, tool, input_digest(tool_input), str(nth))


def input_digest(tool_input: Any) -> str:
    """Return the sha256 of an input as canonical JSON: key order and white space make no difference."""
    text = json.dumps(tool_input, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
