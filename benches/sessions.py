"""Made-up session files in Claude Code's format, of the sizes that real ones have."""

from __future__ import annotations

import json
import random
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

CALLS = 40
"""Median of real sessions."""

RESULT_CHARS = (200, 400, 1_500, 3_500, 9_000, 35_000)
"""Sizes of results: half below 3.5 kB, one in ten above 35 kB. Source: counted on 20,228 real calls."""


def write_sessions(folder: Path, count: int, *, seed: int = 1) -> int:
    """Write so many session files and return their bytes; the same seed writes the same."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    size = 0
    for _ in range(count):
        session = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        data = _session(session, rng)
        (folder / f"{session}.jsonl").write_bytes(data)
        size += len(data)
    return size


def _session(session: str, rng: random.Random) -> bytes:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=rng.randrange(500_000))
    lines: list[dict[str, Any]] = []
    parent = None

    def add(kind: str, **fields: Any) -> None:
        nonlocal at, parent
        at += timedelta(seconds=rng.randrange(1, 20))
        own = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        lines.append(
            {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": "/home/dev/app",
                "sessionId": session,
                "version": "2.1.42",
                "gitBranch": "main",
                "type": kind,
                **fields,
                "uuid": own,
                "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            }
        )
        parent = own

    for number in range(CALLS):
        if number % 10 == 0:
            add("user", message={"role": "user", "content": f"look into part {number} of src/app.py"})
        call = "toolu_" + "".join(rng.choices("abcdefghjkmnpqrstuvwxyz23456789", k=24))
        name, tool_input, answer, structured = _exchange(number, rng)
        block = {"type": "tool_use", "id": call, "name": name, "input": tool_input}
        usage = {"input_tokens": 8, "cache_read_input_tokens": 20_000, "output_tokens": rng.randrange(40, 400)}
        message = {"id": f"msg_{call}", "model": "model-x", "role": "assistant", "content": [block], "usage": usage}
        add("assistant", message=message, requestId=f"req_{call}")
        add("progress", data={"type": "hook_progress"}, toolUseID=call)
        result = {"tool_use_id": call, "type": "tool_result", "content": answer}
        add("user", message={"role": "user", "content": [result]}, toolUseResult=structured)
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _exchange(number: int, rng: random.Random) -> tuple[str, dict[str, Any], str, Any]:
    path = f"/home/dev/app/src/part{rng.randrange(50)}.py"
    body = "some words of a file \n" * (rng.choice(RESULT_CHARS) // 22)
    if number % 5 == 0:
        hits = "\n".join(f"src/part{n}.py:{n}:def f{n}():" for n in rng.sample(range(50), 12))
        told = {"mode": "content", "numFiles": 0, "filenames": [], "content": hits, "numLines": 12}
        return "Grep", {"pattern": "def f", "path": "src", "output_mode": "content", "-n": True}, hits, told
    if number % 5 == 1:
        return (
            "Bash",
            {"command": f"sed -n '1,80p' {path}", "description": "look"},
            body,
            {"stdout": body, "stderr": ""},
        )
    if number % 5 == 2:
        change = {"file_path": path, "old_string": body[:400], "new_string": body[:380]}
        return "Edit", change, f"The file {path} has been updated.", {"filePath": path, "structuredPatch": []}
    file = {"filePath": path, "content": body, "numLines": 40, "startLine": 1, "totalLines": 40}
    return "Read", {"file_path": path}, body, {"type": "text", "file": file}
