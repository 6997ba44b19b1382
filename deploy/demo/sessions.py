"""The plan as session files in Claude Code's own format, one a day: the demo imports what a person would."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from deploy.demo import answers
from deploy.demo.lookup import lookup
from deploy.demo.plan import Edit, GrepTree, Missing, Open, Run, Search, Step, Together
from deploy.demo.visits import PlannedVisit, SearchFunction, schedule

DOCS = "/srv/saltmarsh/docs"
"""Where the demo's agents see the documentation."""

MODEL = "claude-demo"


@dataclass(slots=True)
class _File:
    """Lines of one session file while it is written."""

    session_id: str
    rng: random.Random
    cwd: str
    agent: str = ""
    parent: str | None = None
    at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    lines: list[dict[str, Any]] = field(default_factory=list)

    def new_id(self, prefix: str) -> str:
        return prefix + "".join(self.rng.choices("ABCDEFGHJKMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789", k=24))

    def add(self, kind: str, *, wait_s: float = 1.0, **fields: Any) -> str:
        self.at += timedelta(seconds=wait_s, milliseconds=self.rng.randrange(400))
        own = str(uuid.UUID(int=self.rng.getrandbits(128), version=4))
        line = {
            "parentUuid": self.parent,
            "isSidechain": bool(self.agent),
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": "2.1.42",
            "gitBranch": "main",
            "type": kind,
            **fields,
            "uuid": own,
            "timestamp": self.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        self.lines.append(line | ({"agentId": self.agent} if self.agent else {}))
        self.parent = own
        return own


def write(
    folder: Path, as_of: datetime, search: SearchFunction = lookup, *, docs: str = DOCS, seed: int = 200
) -> list[Path]:
    """Write the demo's session files into a folder and return them; the same arguments give the same bytes.

    Args:
        folder: Created when missing.
        as_of: The demo's present; the sessions lie in the 30 days before it.
        search: What the memory shows for a query; the default needs no search store.
        docs: The documentation folder as the agents see it.
        seed: Of ids and pauses; the plan itself is not random.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    written: list[Path] = []
    for _, visits in groupby(schedule(as_of), key=lambda item: item.at.date()):
        for name, lines in _session(list(visits), search, docs, rng).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
            written.append(path)
    return written


def _session(
    visits: Sequence[PlannedVisit], search: SearchFunction, docs: str, rng: random.Random
) -> dict[str, list[dict[str, Any]]]:
    """The files of one day's session: the main one, and one for each subagent."""
    session_id = str(uuid.UUID(int=rng.getrandbits(128), version=4))
    main = _File(session_id, rng, docs.rpartition("/")[0])
    files = {f"{session_id}.jsonl": main.lines}
    for item in visits:
        main.at = max(item.at, main.at + timedelta(seconds=30))
        main.parent = None if not main.lines else main.parent
        main.add("user", message={"role": "user", "content": item.visit.prompt})
        if item.visit.subagent:
            side = _delegate(main, item, search, docs)
            files[f"{session_id}/subagents/agent-{side.agent}.jsonl"] = side.lines
        else:
            _work(main, item.visit.steps, search, docs)
        if main.lines[-1]["type"] == "user":
            _say(main, "Done.", stop=True)
    return files


def _delegate(main: _File, item: PlannedVisit, search: SearchFunction, docs: str) -> _File:
    """The main agent starts a subagent, which does the steps in a file of its own."""
    task = _ask(main, "Task", {"description": "look", "prompt": item.visit.prompt, "subagent_type": "general-purpose"})
    side = _File(main.session_id, main.rng, main.cwd, agent=f"{main.rng.getrandbits(32):08x}", at=main.at)
    side.add("user", message={"role": "user", "content": item.visit.prompt})
    _work(side, item.visit.steps, search, docs)
    _say(side, "Found it.", stop=True)
    main.at = side.at
    _tell(main, task, "Found it.", {"status": "completed", "agentId": side.agent, "content": []})
    return side


def _work(file: _File, steps: Sequence[Step], search: SearchFunction, docs: str) -> None:
    for step in steps:
        if isinstance(step, Together):
            message = file.new_id("msg_")
            calls = [_ask(file, answers.SEARCH_TOOL, {"query": query}, message=message) for query in step.queries]
            for call, query in reversed(list(zip(calls, step.queries, strict=True))):
                _tell(file, call, answers.search_answer(query, search(query)))
            continue
        tool, tool_input, answer, structured, error = _exchange(step, search, docs)
        call = _ask(file, tool, tool_input)
        if answer is None:
            file.add("user", message={"role": "user", "content": [answers.text("[Request interrupted by user]")]})
        else:
            _tell(file, call, answer, structured, error=error)


def _exchange(step: Step, search: SearchFunction, docs: str) -> answers.Answer:
    if isinstance(step, Search):
        return (
            answers.SEARCH_TOOL,
            {"query": step.query},
            answers.search_answer(step.query, search(step.query)),
            None,
            False,
        )
    if isinstance(step, Open):
        return answers.opened(step, docs)
    if isinstance(step, Edit):
        return answers.edited(step, docs)
    if isinstance(step, GrepTree):
        return answers.grepped(step)
    if isinstance(step, Missing):
        return answers.missing(step, docs)
    if isinstance(step, Run):
        return answers.ran(step)
    raise TypeError(f"expected a single step, got {type(step).__name__}")


def _ask(file: _File, tool: str, tool_input: dict[str, Any], *, message: str = "") -> str:
    """The assistant asks for a tool; usage of the message stands on the line, as the runtime writes it."""
    call = file.new_id("toolu_")
    block = {"type": "tool_use", "id": call, "name": tool, "input": tool_input}
    _assistant(file, message or file.new_id("msg_"), block, output=60 + file.rng.randrange(200), stop=False)
    return call


def _say(file: _File, words: str, *, stop: bool) -> None:
    _assistant(file, file.new_id("msg_"), answers.text(words), output=20 + file.rng.randrange(80), stop=stop)


def _assistant(file: _File, message: str, block: dict[str, Any], *, output: int, stop: bool) -> None:
    usage = {"input_tokens": 8, "cache_read_input_tokens": 12_000 + file.rng.randrange(20_000), "output_tokens": output}
    body = {
        "model": MODEL,
        "id": message,
        "type": "message",
        "role": "assistant",
        "content": [block],
        "stop_reason": "end_turn" if stop else None,
        "usage": usage,
    }
    file.add("assistant", wait_s=3 + file.rng.randrange(9), message=body, requestId=file.new_id("req_"))


def _tell(file: _File, call: str, answer: Any, structured: Any = None, *, error: bool = False) -> None:
    block = {"tool_use_id": call, "type": "tool_result", "content": answer} | ({"is_error": True} if error else {})
    message = {"role": "user", "content": [block]}
    file.add("user", message=message, toolUseResult=structured if structured is not None else answer)
