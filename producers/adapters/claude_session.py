"""Folds the lines of one Claude Code session's files into turns with their calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath

from producers import identity
from producers.adapters import claude_records as read
from producers.adapters.claude_records import Call, Mark, Place, Prompt, Record, Result, Skipped, Spent
from producers.lines import Line, Problem, json_lines
from producers.observed import Observed
from producers.prompts import named_targets
from producers.translation import SourceFile
from producers.turns import Tally, Trigger, Turn
from streams.events import InvocationId

RUNTIME = "claude-code"


@dataclass(frozen=True, slots=True)
class _Here:
    """The line that is being read."""

    place: Place
    at: datetime
    uri: str
    number: int
    tally: Tally


class Session:
    """One session's turns, filled file by file, main files before subagents' files."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.problems: list[Problem] = []
        self.tallies: dict[str, Tally] = {}
        self.usage: dict[str, dict[str, int]] = {}
        """Message id -> usage, the largest value of each field: early lines of a message hold placeholders."""
        self.messages: dict[InvocationId, list[str]] = {}
        """Messages by turn, each in the first that holds it."""
        self.messages_in: dict[str, set[str]] = {}
        """Messages by file."""
        self._calls: dict[str, tuple[Observed, Turn]] = {}
        self._lines: set[str] = set()
        self._turn_of_line: dict[str, Turn] = {}
        self._turn_of_agent: dict[str, Turn] = {}
        self._agent_of_line: dict[str, str] = {}
        self._equal_calls: Counter[str] = Counter()
        self._epochs: Counter[str] = Counter()
        """Compactions so far by agent: a subagent has a context of its own."""
        self._boundaries: set[str] = set()
        """Agents whose last compaction has no summary yet."""

    def add(self, file: SourceFile) -> None:
        """Take in one file."""
        tally = self.tallies.setdefault(file.uri, Tally())
        at: datetime | None = None
        for item in json_lines(file.data, file.uri):
            if isinstance(item, Problem):
                self.problems.append(item)
                continue
            tally.records += 1
            place = read.place_of(item.value)
            at = place.at or at
            if place.uuid in self._lines:
                tally.repeated += 1
                self._spend_again(item)
                continue
            if place.uuid:
                self._lines.add(place.uuid)
            self._line(item, place, at, file.uri, tally)

    def _line(self, line: Line, place: Place, at: datetime | None, uri: str, tally: Tally) -> None:
        turn = self._turn_at(place, at)
        for record in read.records(line.value):
            if isinstance(record, Skipped):
                tally.skipped[record.reason] += 1
            elif at is None:
                self.problems.append(_without_time(uri, line))
            else:
                here = _Here(place, at, uri, line.number, tally)
                turn = self._tell(record, here, turn)
        if turn is not None and at is not None:
            turn.last_at = max(turn.last_at, at)
            if place.uuid:
                self._turn_of_line[place.uuid] = turn

    def _turn_at(self, place: Place, at: datetime | None) -> Turn | None:
        """The turn of the line's parent; of a subagent, the turn that started it, else the latest begun by then."""
        known = self._turn_of_line.get(place.parent)
        if known is not None or not self.turns:
            return known
        if self._agent(place) == RUNTIME:
            return self.turns[-1]
        if place.agent in self._turn_of_agent:
            return self._turn_of_agent[place.agent]
        begun = [turn for turn in self.turns if at is not None and turn.at <= at]
        return begun[-1] if begun else self.turns[0]

    def _agent(self, place: Place) -> str:
        """The agent of a line; an inline sidechain without an id is named by its first line."""
        if not (place.sidechain or place.agent):
            return RUNTIME
        side = place.agent or self._agent_of_line.get(place.parent) or place.uuid[:8] or "subagent"
        self._agent_of_line[place.uuid] = side
        return f"{RUNTIME}/{side}"

    def _tell(self, record: Record, here: _Here, turn: Turn | None) -> Turn | None:
        if isinstance(record, Prompt):
            if self._agent(here.place) == RUNTIME or turn is None:
                return self._begin(record, here)
            return turn
        if isinstance(record, Result):
            self._result(record, here)
            return turn
        if isinstance(record, Mark):
            self._mark(record, self._agent(here.place), turn)
            return turn
        turn = turn or self._begin(Prompt("", "", "resume"), here)
        if isinstance(record, Call):
            self._call(record, here, turn)
        elif isinstance(record, Spent):
            self._spend(record, here, turn)
        return turn

    def _begin(self, prompt: Prompt, here: _Here) -> Turn:
        place = here.place
        session_id = place.session_id or PurePath(here.uri).stem
        trigger: Trigger = "agent" if self._agent(place) != RUNTIME else prompt.trigger
        own = (
            prompt.prompt_id or place.uuid or identity.event_id("prompt", session_id, prompt.text, here.at.isoformat())
        )
        if self.turns and self.turns[-1].reason == "end_of_source":
            self.turns[-1].reason = "next_prompt"
        turn = Turn(
            invocation_id=identity.invocation_id(RUNTIME, own),
            session_id=session_id,
            uri=here.uri,
            line=here.number,
            at=here.at,
            last_at=here.at,
            prompt=prompt.text,
            trigger=trigger,
            agent_id=self._agent(place),
            cwd=place.cwd,
            epoch=self._epochs[self._agent(place)],
        )
        self.turns.append(turn)
        return turn

    def _call(self, call: Call, here: _Here, turn: Turn) -> None:
        if call.call_id and call.call_id in self._calls:
            here.tally.repeated += 1
            return
        agent = self._agent(here.place)
        equal = "" if call.call_id else f"{agent}/{call.name}/{identity.input_digest(call.input)}"
        seen = Observed(
            call_id=call.call_id,
            name=call.name,
            input=call.input,
            at=here.at,
            line=here.number,
            cwd=here.place.cwd,
            epoch=self._epochs[agent],
            nth=self._equal_calls[equal],
        )
        self._equal_calls[equal] += 1
        self._calls[call.call_id] = (seen, turn)
        here.tally.calls.append(seen)
        turn.add(seen, agent=agent, uri=here.uri)

    def _result(self, result: Result, here: _Here) -> None:
        seen, turn = self._calls.get(result.call_id, (None, None))
        if seen is None or turn is None:
            here.tally.skipped["result without its call"] += 1
            return
        if seen.text is not None:
            here.tally.repeated += 1
            return
        here.tally.results += 1
        here.tally.errors += result.is_error
        seen.text, seen.structured, seen.is_error = result.text, result.structured, result.is_error
        seen.ended_at = here.at
        if isinstance(result.structured, dict) and isinstance(result.structured.get("agentId"), str):
            self._turn_of_agent[result.structured["agentId"]] = turn

    def _mark(self, mark: Mark, agent: str, turn: Turn | None) -> None:
        if mark.kind in ("compacted", "summarised"):
            self._compacted(agent, summary=mark.kind == "summarised")
        elif turn is None:
            return
        elif mark.kind == "interrupted":
            turn.reason = "interrupted"
        elif mark.kind == "attached" and mark.text:
            turn.named.append(mark.text)
        elif mark.kind == "queued":
            turn.named += named_targets(mark.text)
        elif mark.kind == "stopped" and turn.reason != "interrupted":
            turn.reason = "stop"

    def _compacted(self, agent: str, *, summary: bool) -> None:
        """A compaction has a boundary line, a summary line, or one after the other: it counts once."""
        if not (summary and agent in self._boundaries):
            self._epochs[agent] += 1
        if summary:
            self._boundaries.discard(agent)
        else:
            self._boundaries.add(agent)

    def _spend(self, spent: Spent, here: _Here, turn: Turn) -> None:
        self.messages_in.setdefault(here.uri, set()).add(spent.message_id)
        if spent.message_id not in self.usage:
            self.messages.setdefault(turn.invocation_id, []).append(spent.message_id)
        self._count(spent)
        turn.model = spent.model or turn.model
        if spent.stopped and self._agent(here.place) == RUNTIME:
            turn.reason = "stop"

    def _spend_again(self, line: Line) -> None:
        for record in read.records(line.value):
            if isinstance(record, Spent):
                self._count(record)

    def _count(self, spent: Spent) -> None:
        known = self.usage.setdefault(spent.message_id, {})
        for name, value in spent.usage.items():
            if isinstance(value, int) and not isinstance(value, bool):
                known[name] = max(known.get(name, 0), value)


def _without_time(uri: str, line: Line) -> Problem:
    reason = "expected an ISO-8601 timestamp on this line or one before it, got none"
    return Problem(
        uri=uri, line=line.number, offset=line.offset, reason=reason, kind="dead", stage="translate", raw=line.raw
    )
