"""The golden corpus: call sequences in a compact notation, with the facts that a person says follow from them.

A file holds `setup` (calls that every case begins with) and `cases`: `[name, calls, facts]`. Calls and facts are one
string or a list. A call is

    [@SECONDS] [OPTION=VALUE ...] Tool: argument [=> results]

and comes 10 s after the one before it unless it says when. Options: `agent`, `inv`, `id`, `end` (seconds), `turn`,
`status`, `epoch`, `cwd`, `raw` (the runtime's name of the tool), `n` (repeat so often). What the argument means is up
to the tool. `search`, `graph`, `recent`: `[query] => results`; results are `ANCHOR[=PATH]`, comma-separated, or `-`
none, `?` unknown, `!` error; a path may be `invocation:SESSION/ID` or `passage:PATH#3-9`. `Read`: a path, with
`#10-20` lines; `memory_citation`: such paths, comma-separated; `Grep`: `PATTERN [in PATH]`; `Bash`: a command; any
tool: `{json}`.

A fact is `[N] word [ANCHOR] [by RULE]`, N the search in question (1 by default): `consumed A by path`, `edited A`,
`seen A`, `clicked A`, `outside A`, `grade A C`, `half A` (credit below 1), `old A` (no new content), `ambiguous`,
`reformulated`, `abandoned`, `fallback`, `graph_after_read`, `zero_hit`. A bare anchor means `consumed A by path`, `~A`
the same by a shell command (grade C); `-` means `abandoned`; `none` means no fact at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from correlator.documents import Documents
from correlator.offline import correlate
from streams.events import DocumentIndexed, Surface, ToolCalled, ToolEvent, ToolStatus, Touch
from streams.outcome import settle, target_of
from streams.recall import (
    Candidate,
    InvocationRef,
    PassageRef,
    RecallEvent,
    RecallOutcome,
    ResultStatus,
    TargetRef,
    UrlRef,
)
from tests.correlator.builders import T0, a_call, a_start, an_end, at

FOLDER = Path(__file__).parent
WORDS = ("reformulated", "abandoned", "fallback", "graph_after_read", "zero_hit", "ambiguous")
TOOLS = {"search": "search_evidence", "graph": "graph_resolve", "recent": "list_recent"}


@dataclass(frozen=True, slots=True)
class Case:
    """One labelled sequence."""

    file: str
    name: str
    events: tuple[ToolEvent, ...]
    documents: Documents
    facts: frozenset[str]


def load() -> list[Case]:
    """Return every case of every file."""
    return [case for path in sorted(FOLDER.glob("*.yaml")) for case in _cases(path)]


def _cases(path: Path) -> Iterator[Case]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    setup = _listed(content.get("setup", []))
    documents = Documents(
        DocumentIndexed(anchor=anchor, path=where, doc_kind="plan", occurred_at=T0)
        for anchor, where in content.get("indexed", {}).items()
    )
    for name, calls, facts in content["cases"]:
        lines = [*setup, *_listed(calls)]
        expected = frozenset(fact for text in _listed(facts) if text != "none" for fact in _facts(text))
        yield Case(path.stem, name, tuple(_events(lines)), documents, expected)


def _listed(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _facts(text: str) -> list[str]:
    if text == "-":
        return ["1 abandoned"]
    number, _, rest = text.partition(" ") if re.match(r"\d+ ", text) else ("1", "", text)
    word = rest.split(" ")[0]
    if rest.startswith("~"):
        return [f"{number} consumed {rest[1:]} by path", f"{number} grade {rest[1:]} C"]
    known = word in WORDS or word in ("consumed", "edited", "seen", "clicked", "outside", "grade", "half", "old")
    return [f"{number} {rest}" if known else f"{number} consumed {rest} by path"]


_CALL = re.compile(r"(?:@(?P<at>[\d.]+) )?(?P<options>(?:[a-z]+=\S+ )*)(?P<tool>[\w-]+)(?:: ?(?P<rest>.*))?", re.S)


def _events(lines: list[str]) -> Iterator[ToolEvent]:
    seconds = -10.0
    serial = 0
    for line in lines:
        found = _CALL.fullmatch(line)
        assert found is not None, line
        options = dict(option.split("=", 1) for option in found["options"].split())
        for _ in range(int(options.get("n", "1"))):
            seconds = float(found["at"]) if found["at"] else seconds + 10
            serial += 1
            yield _event(found["tool"], found["rest"] or "", options, seconds, serial)


def _event(tool: str, rest: str, options: dict[str, str], seconds: float, serial: int) -> ToolEvent:
    agent, invocation = options.get("agent", "a1"), options.get("inv", "v1")
    if tool == "prompt":
        return a_start(at_s=seconds, agent=agent, invocation=invocation, named_targets=tuple(rest.split()))
    if tool == "stop":
        return an_end(at_s=seconds, agent=agent, invocation=invocation)
    tool_input, recall, touched = _meaning(tool, rest)
    call = a_call(
        TOOLS.get(tool, tool),
        tool_input,
        at_s=seconds,
        use=options.get("id", f"{serial:04d}"),
        agent=agent,
        invocation=invocation,
        cwd=options.get("cwd", ""),
        turn_index=int(options.get("turn", serial)),
        status=ToolStatus(options.get("status", "ok")),
        ended_at=at(float(options["end"])) if "end" in options else None,
        context_epoch=int(options.get("epoch", "0")),
        tool_raw=options.get("raw", ""),
        touched=touched,
    )
    return msgspec.structs.replace(call, recall=recall) if recall is not None else call


def _meaning(tool: str, rest: str) -> tuple[dict[str, Any], RecallOutcome | None, tuple[Touch, ...]]:
    argument, *shown = re.split(r"(?:^| )(?:=>|::) ", rest, maxsplit=1)
    if tool in TOOLS:
        return {"query": argument or "kiln"}, _outcome(shown[0], Surface.MEMORY), ()
    surface = Surface.WEB_SEARCH if tool == "WebSearch" else Surface.MEMORY
    if tool in ("Grep", "Glob", "Bash"):
        surface = Surface.CODE_SEARCH
    recall = _outcome(shown[0], surface) if shown else None
    if argument.startswith("{"):
        return json.loads(argument), recall, ()
    if tool == "Read":
        return _read(argument, recall)
    if tool == "memory_citation":
        return {}, None, _cited(argument)
    if tool == "Grep":
        pattern, _, path = argument.partition(" in ")
        return {"pattern": pattern, **({"path": path} if path else {})}, recall, ()
    names = {
        "Bash": "command",
        "PowerShell": "command",
        "WebFetch": "url",
        "WebSearch": "query",
        "Glob": "pattern",
        "ApplyPatch": "input",
    }
    return {names.get(tool, "file_path"): argument} if argument else {}, recall, ()


def _read(
    argument: str, recall: RecallOutcome | None
) -> tuple[dict[str, Any], RecallOutcome | None, tuple[Touch, ...]]:
    path = argument.removeprefix("unchanged ")
    touched = (Touch(op="read", path=path, new_content=False),) if path != argument else ()
    span: dict[str, Any] = {}
    if found := re.fullmatch(r"(.+)#(\d+)-(\d+)", path):
        path, first, last = found[1], int(found[2]), int(found[3])
        span = {"offset": first, "limit": last - first + 1}
    return {"file_path": path, **span}, recall, touched


def _cited(argument: str) -> tuple[Touch, ...]:
    """What the runtime says that an answer rests on: `PATH#3-9, PATH`."""
    found = [re.fullmatch(r"(.+?)(?:#(\d+)-(\d+))?", each) for each in argument.split(", ")]
    return tuple(
        Touch(op="read", path=each[1], start_line=int(each[2]), end_line=int(each[3]))
        if each[2]
        else Touch(op="read", path=each[1])
        for each in found
        if each is not None
    )


def _outcome(text: str, surface: Surface) -> RecallOutcome | None:
    if text == "?":
        return None
    if text == "!":
        return RecallOutcome(result_status=ResultStatus.ERROR, surface=surface)
    head, _, shown = text.rpartition("; ")
    resolved = head.removeprefix("resolved ") if head.startswith("resolved ") else None
    pairs = [each.partition("=")[::2] for each in shown.split(", ")] if shown != "-" else []
    found = tuple(_candidate(anchor, path, rank) for rank, (anchor, path) in enumerate(pairs, start=1))
    status, count = settle(len(found))
    return RecallOutcome(
        result_status=status, result_count=count, candidates=found, surface=surface, resolved_anchor=resolved
    )


def _candidate(anchor: str, path: str, rank: int) -> Candidate:
    return Candidate(anchor=anchor, rank=rank, target=_target(anchor, path))


def _target(anchor: str, path: str) -> TargetRef:
    if "://" in anchor:
        return UrlRef(url=anchor)
    kind, _, rest = path.partition(":")
    if kind == "invocation":
        session, _, invocation = rest.partition("/")
        return InvocationRef(session_id=session, invocation_id=invocation)
    if kind == "passage":
        path, _, lines = rest.partition("#")
        first, _, last = lines.partition("-")
        return PassageRef(passage_id=anchor, path=path, start_line=int(first), end_line=int(last))
    return target_of(anchor, path=path)


def facts_of(case: Case) -> frozenset[str]:
    """Return the facts that the correlator finds in a case, in the notation of the labels."""
    recalls, _ = correlate(case.events, documents=case.documents)
    order = {event.tool_use_id: event for event in case.events if isinstance(event, ToolCalled)}
    searches = [use for use in order if any(recall.tool_use_id == use for recall in recalls)]
    numbered: dict[str, int] = {use: number for number, use in enumerate(searches, start=1)}
    return frozenset(fact for recall in recalls for fact in _of_recall(recall, numbered[recall.tool_use_id]))


def _of_recall(recall: RecallEvent, number: int) -> Iterator[str]:
    for each in recall.consumed:
        if each.grade != "B":
            yield f"{number} grade {each.anchor} {each.grade}"
        if each.rank is None:
            yield f"{number} outside {each.anchor}"
            continue
        yield f"{number} consumed {each.anchor} by {each.rule}"
        marks = {"edited": each.depth == "edit", "seen": each.already_seen, "half": each.credit < 1}
        marks["old"] = not each.new_content
        yield from (f"{number} {mark} {each.anchor}" for mark, holds in marks.items() if holds)
    yield from (f"{number} clicked {anchor}" for anchor in {each.anchor for each in recall.clicked})
    flags = (
        recall.reformulated,
        recall.abandoned,
        recall.fell_back_to_grep,
        recall.next_graph_resolve_after_read,
        recall.zero_hit,
        recall.clarity == "ambiguous",
    )
    yield from (f"{number} {word}" for word, holds in zip(WORDS, flags, strict=True) if holds)


def rule_of(fact: str) -> str:
    """Return the rule that a fact measures: its word, and for a consumption the row of the table that decided."""
    _, word, *rest = fact.split(" ")
    if word == "consumed":
        return "consumed by " + " ".join(rest).partition(" by ")[2]
    return f"grade {rest[-1]}" if word == "grade" else word
