"""Builders of Claude Code transcript lines: every field has a default."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

SESSION = "11111111-2222-4333-8444-555555555555"


def line(kind: str, *, uuid: str, at: str = "10:00:00", parent: str | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "timestamp": f"2026-03-01T{at}.000Z",
        "sessionId": SESSION,
        "cwd": "/srv/app",
        "version": "2.1.0",
        "isSidechain": False,
    } | fields


def prompt(text: str = "fix the build", *, uuid: str = "p1", **fields: Any) -> dict[str, Any]:
    return line("user", uuid=uuid, message={"role": "user", "content": text}, **fields)


def call(call_id: str, name: str, tool_input: dict[str, Any], *, usage: int = 5, **fields: Any) -> dict[str, Any]:
    message = {
        "id": fields.pop("message_id", f"msg-{call_id}"),
        "model": "model-1",
        "role": "assistant",
        "content": [{"type": "tool_use", "id": call_id, "name": name, "input": tool_input}],
        "usage": {"input_tokens": 1, "output_tokens": usage},
    }
    return line("assistant", uuid=fields.pop("uuid", f"a-{call_id}"), message=message, **fields)


def result(
    call_id: str, content: Any = "done", *, structured: Any = None, error: bool = False, **fields: Any
) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content} | ({"is_error": True} if error else {})
    message = {"role": "user", "content": [block]}
    return line("user", uuid=fields.pop("uuid", f"r-{call_id}"), message=message, toolUseResult=structured, **fields)


def transcript(lines: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(item, ensure_ascii=False).encode() + b"\n" for item in lines)


READ_OF_A_HIT = (
    prompt(),
    call("toolu_01", "Grep", {"pattern": "retry", "path": "src", "output_mode": "content"}, at="10:00:01"),
    result("toolu_01", "src/retry.py:3:def retry():\nsrc/net.py:9:retry()", at="10:00:02"),
    call("toolu_02", "Read", {"file_path": "/srv/app/src/net.py"}, at="10:00:03"),
    result("toolu_02", "1\tretry()", at="10:00:04"),
)
"""A search and the read of its second hit."""
