"""Codex CLI rollout files to events: one invocation is one turn of a thread.

Arguments are JSON inside a string, results come as items of their own, and what the runtime understood of a command
(`parsed_cmd`), of a patch and of an MCP call comes as messages that not every version writes. A forked thread
repeats its parent's items with new times: call ids are kept, so the first owner of a call keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from producers import identity
from producers.adapters import codex_results
from producers.lines import Line, Problem, json_lines
from producers.observed import Observed
from producers.records import mapping, sequence, text, whole
from producers.times import instant
from producers.translation import Adapter, SourceFile, Translation
from producers.turns import Home, Tally, Turn, turn_events
from streams.events import ToolEvent, ToolStatus

NAME = "codex-rollout"
RUNTIME = "codex-cli"

_LINE = re.compile(
    rb'"type"\s*:\s*"(?:session_meta|turn_context|response_item|event_msg|compacted)"|"record_type"\s*:\s*"state"'
)
_SESSION = re.compile(rb'"session_meta".{0,400}?"id"\s*:\s*"([^"]+)"', re.S)
_NO_PROMPT = re.compile(
    r"\s*(?:<environment_context|<user_instructions|<permissions|<turn_aborted|<skill|# AGENTS\.md)"
)


class _Thread:
    """Folds the lines of one rollout file into turns."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.turns: list[Turn] = []
        self.problems: list[Problem] = []
        self.tally = Tally()
        self.thread_id = self.root = self.agent = ""
        self._cwd = self._model = self._turn_id = ""
        self._calls: dict[str, Observed] = {}
        self._epoch = 0
        self._total: dict[str, int] = {}
        self._searches = 0

    def add(self, line: Line) -> None:
        """Take in one line."""
        self.tally.records += 1
        kind, payload = text(line.value.get("type")), mapping(line.value.get("payload"))
        at = instant(line.value.get("timestamp"))
        if at is None:
            reason = "expected an ISO-8601 timestamp, got none (files of before the wrapped format are not read)"
            self.problems.append(
                Problem(
                    uri=self.uri,
                    line=line.number,
                    offset=line.offset,
                    reason=reason,
                    kind="dead",
                    stage="translate",
                    raw=line.raw,
                )
            )
        elif kind == "session_meta":
            self._meta(payload)
        elif kind == "turn_context":
            self._context(payload, at, line.number)
        elif kind == "response_item":
            self._item(payload, at, line.number)
        elif kind == "event_msg":
            self._message(payload, at, line.number)
        elif kind == "compacted":
            self._epoch += 1
        else:
            self.tally.skipped[f"unknown type: {kind[:60]}"] += 1

    def _meta(self, payload: dict[str, Any]) -> None:
        """The first one is the thread's own, later ones are its ancestors'."""
        if self.thread_id:
            return
        self.thread_id = text(payload.get("id"))
        spawn = mapping(mapping(mapping(payload.get("source")).get("subagent")).get("thread_spawn"))
        parent = text(payload.get("parent_thread_id")) or text(spawn.get("parent_thread_id"))
        self.root = text(payload.get("session_id")) or parent or text(payload.get("forked_from_id")) or self.thread_id
        self.agent = f"{RUNTIME}/{self.thread_id}" if parent else RUNTIME
        self._cwd = text(payload.get("cwd"))

    def _context(self, payload: dict[str, Any], at: datetime, number: int) -> None:
        self._cwd = text(payload.get("cwd")) or self._cwd
        self._model = text(payload.get("model")) or self._model
        self._enter(text(payload.get("turn_id")), at, number)

    def _enter(self, turn_id: str, at: datetime, number: int) -> None:
        """A turn begins where its id is first seen."""
        if turn_id and turn_id != self._turn_id:
            self._turn_id = turn_id
            self._begin(turn_id, "", at, number)

    def _begin(self, own: str, prompt: str, at: datetime, number: int) -> Turn:
        if self.turns and self.turns[-1].reason == "end_of_source":
            self.turns[-1].reason = "next_prompt"
        turn = Turn(
            invocation_id=identity.invocation_id(RUNTIME, own),
            uri=self.uri,
            line=number,
            at=at,
            last_at=at,
            prompt=prompt,
            trigger="prompt" if self.agent in ("", RUNTIME) else "agent",
            agent_id=self.agent or RUNTIME,
            cwd=self._cwd,
            epoch=self._epoch,
            model=self._model,
        )
        self.turns.append(turn)
        return turn

    def _turn(self, at: datetime, number: int) -> Turn:
        turn = self.turns[-1] if self.turns else self._begin(f"{self.thread_id}/resumed", "", at, number)
        turn.last_at = max(turn.last_at, at)
        return turn

    def _prompt(self, prompt: str, at: datetime, number: int) -> None:
        """A prompt fills the turn that its id began, or begins one where the file has no turn ids."""
        if not prompt.strip() or _NO_PROMPT.match(prompt):
            return
        if self.turns and not self.turns[-1].calls and self.turns[-1].prompt in ("", prompt):
            self.turns[-1].prompt = prompt
        elif not self._turn_id:
            nth = sum(turn.prompt == prompt for turn in self.turns)
            self._begin(identity.event_id("prompt", self.thread_id, prompt, str(nth)), prompt, at, number)

    def _item(self, payload: dict[str, Any], at: datetime, number: int) -> None:
        kind = text(payload.get("type"))
        if kind in ("function_call", "custom_tool_call", "local_shell_call"):
            self._call(payload, at, number)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._result(payload, at)
        elif kind == "web_search_call":
            self._web(payload, at, number)
        elif kind == "message" and payload.get("role") == "user":
            self._prompt(codex_results.output_text(payload.get("content")), at, number)
        else:
            self.tally.skipped[f"item: {kind[:60]}"] += 1

    def _call(self, payload: dict[str, Any], at: datetime, number: int) -> None:
        call_id = text(payload.get("call_id")) or text(payload.get("id"))
        if call_id in self._calls:
            self.tally.repeated += 1
            return
        name, tool_input = codex_results.asked(payload)
        self._seen(call_id, name, tool_input, at, number)

    def _seen(self, call_id: str, name: str, tool_input: dict[str, Any], at: datetime, number: int) -> Observed:
        turn = self._turn(at, number)
        seen = Observed(
            call_id=call_id,
            name=name,
            input=tool_input,
            at=at,
            line=number,
            cwd=text(tool_input.get("workdir")) or self._cwd,
            epoch=self._epoch,
            nth=self._searches,
        )
        turn.add(seen, agent=self.agent or RUNTIME, uri=self.uri)
        self.tally.calls.append(seen)
        if call_id:
            self._calls[call_id] = seen
        return seen

    def _result(self, payload: dict[str, Any], at: datetime) -> None:
        seen = self._calls.get(text(payload.get("call_id")))
        if seen is None:
            self.tally.skipped["result without its call"] += 1
            return
        codex_results.answered(seen, payload.get("output"))
        self._finish(seen, at)

    def _finish(self, seen: Observed, at: datetime) -> None:
        first = seen.ended_at is None
        seen.ended_at = at
        self.turns[-1].last_at = max(self.turns[-1].last_at, at)
        self.tally.results += first
        self.tally.errors += first and codex_results.failed(seen)

    def _web(self, payload: dict[str, Any], at: datetime, number: int) -> None:
        """A web search has no call id, and nobody writes down what it showed: that is unknown, not nothing."""
        name, tool_input = codex_results.web(mapping(payload.get("action")))
        self._searches += 1
        seen = self._seen("", name, tool_input, at, number)
        seen.status = ToolStatus.OK
        self._finish(seen, at)

    def _message(self, payload: dict[str, Any], at: datetime, number: int) -> None:
        kind = text(payload.get("type"))
        seen = self._calls.get(text(payload.get("call_id")))
        if kind == "task_started":
            self._enter(text(payload.get("turn_id")), at, number)
        elif kind == "user_message":
            self._prompt(text(payload.get("message")), at, number)
        elif kind in ("task_complete", "turn_aborted") and self.turns:
            self.turns[-1].reason = "stop" if kind == "task_complete" else "interrupted"
            self.turns[-1].last_at = max(self.turns[-1].last_at, at)
        elif kind == "token_count":
            self._spend(mapping(mapping(payload.get("info")).get("total_token_usage")))
        elif kind == "agent_message" and payload.get("memory_citation"):
            self._cite(mapping(payload["memory_citation"]), at, number)
        elif kind.endswith("_end") and seen is not None:
            codex_results.understood(kind, payload, seen)
        else:
            self.tally.skipped[f"message: {kind[:60]}"] += 1

    def _cite(self, citation: dict[str, Any], at: datetime, number: int) -> None:
        """The runtime itself says which memory an answer used."""
        entries = [mapping(entry) for entry in sequence(citation.get("entries"))]
        self._searches += 1
        seen = self._seen("", "memory_citation", {"entries": entries}, at, number)
        seen.status = ToolStatus.OK
        self._finish(seen, at)

    def _spend(self, total: dict[str, Any]) -> None:
        """Totals only grow; the same total comes again, and a smaller one begins a new count."""
        now = {name: number for name, value in total.items() if (number := whole(value)) is not None}
        if not now or now == self._total or not self.turns:
            return
        shrunk = now.get("total_tokens", 0) < self._total.get("total_tokens", 0)
        base = {} if shrunk else self._total
        spent = {name: value - base.get(name, 0) for name, value in now.items()}
        self._total = now
        turn = self.turns[-1]
        turn.usage = codex_results.added(turn.usage, spent)
        self.tally.spend(spent.get("output_tokens", 0))


def recognises(name: str, head: bytes) -> bool:
    """Tell whether a file is a rollout, by its first bytes."""
    return _LINE.search(head) is not None and b'"payload"' in head


def lineage(name: str, head: bytes) -> str:
    """Return the thread of a file: it writes one file of its own."""
    found = _SESSION.search(head)
    return found.group(1).decode("utf-8", "replace") if found else name


def translate(files: Sequence[SourceFile]) -> Translation:
    """Return the events of one thread's files."""
    events: dict[str, ToolEvent] = {}
    problems: list[Problem] = []
    counts = {}
    for file in files:
        thread = _Thread(file.uri)
        for item in json_lines(file.data, file.uri):
            if isinstance(item, Problem):
                problems.append(item)
            else:
                thread.add(item)
        home = Home(
            adapter=NAME,
            runtime=RUNTIME,
            session_id=thread.thread_id or lineage(file.uri, b""),
            root_session_id=thread.root,
        )
        events |= {event.event_id: event for turn in thread.turns for event in turn_events(turn, home)}
        problems += thread.problems
        counts[file.uri] = thread.tally.counts()
    return Translation(events=tuple(events.values()), problems=tuple(problems), files=counts)


ADAPTER = Adapter(name=NAME, runtime=RUNTIME, recognises=recognises, lineage=lineage, translate=translate)
