"""What a search showed, as a `RecallOutcome`: from the sidecar where there is one, else by the tool's own form.

Candidates are read from the text that the model saw, which is what it could open.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from producers import memory_servers
from producers.observed import Observed
from producers.redact import MAX_STRING_CHARS, cut, redact_text
from producers.tools import RECALL_TOOLS
from streams import foreign, outcome
from streams.events import Surface, ToolStatus
from streams.recall import Candidate, RecallOutcome, ResultStatus

_JSON = json.JSONDecoder()
_HEADED = (
    re.compile(r"^File: (.+)$(?=\nL\d+: )", re.M),  # Gemini CLI
    re.compile(r"^((?:/|[A-Za-z]:\\).+):$(?=\n +Line \d+: )", re.M),  # OpenCode
)
_FRAME = re.compile(r"Found \d+ |No files found|\(Results are ")
_CODE_SEARCHES = ("Grep", "Glob")
_QUERY_KEYS = {"Grep": "pattern", "Glob": "pattern", "WebSearch": "query", "graph_resolve": "query"}


def outcome_of(tool: str, seen: Observed, *, text: str, status: ToolStatus) -> RecallOutcome | None:
    """Return what a search call showed, or null when the call is no search."""
    if seen.recall is not None:
        known = seen.recall
        return msgspec.structs.replace(known, query=_safe(known.query), candidates=_clean(known.candidates))
    surface = surface_of(tool, seen.name)
    if surface is None:
        told = tool == "Bash" and status is ToolStatus.OK and seen.text is not None
        found = foreign.candidates_from_shell(_command(seen), text, seen.cwd) if told else None
        return found if found is None else msgspec.structs.replace(found, candidates=_clean(found.candidates))
    query = _query(tool, seen)
    if seen.text is None:
        shown = RecallOutcome(result_status=ResultStatus.RESULT_UNMERGED)
    elif status is not ToolStatus.OK:
        shown = RecallOutcome(result_status=ResultStatus.ERROR)
    else:
        shown = _shown(tool, seen, text, query)
    return msgspec.structs.replace(
        shown, surface=surface.value, query=_safe(shown.query or query), candidates=_clean(shown.candidates)
    )


def surface_of(tool: str, raw: str) -> Surface | None:
    """Return where a tool searches, or null when it is no search."""
    if tool in RECALL_TOOLS or memory_servers.query_of(raw, {}) is not None:
        return Surface.MEMORY
    if tool in _CODE_SEARCHES:
        return Surface.CODE_SEARCH
    return Surface.WEB_SEARCH if tool == "WebSearch" else None


def _clean(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """The candidates without secrets in what names them: a printed line or an address may hold one."""
    return tuple(
        candidate if _holds_none(candidate) else msgspec.convert(_redacted(msgspec.to_builtins(candidate)), Candidate)
        for candidate in candidates
    )


def _holds_none(candidate: Candidate) -> bool:
    return all(redact_text(name) == name for name in (candidate.anchor, candidate.title))


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact_text(value)
    return {name: _redacted(item) for name, item in value.items()} if isinstance(value, dict) else value


def _shown(tool: str, seen: Observed, text: str, query: str) -> RecallOutcome:
    if tool == "Grep":
        headed = _headed(text)
        if headed:
            return foreign.candidates_from_paths(headed, _folder(seen))
        return foreign.candidates_from_grep(text, seen.input, seen.cwd)
    if tool == "Glob":
        paths = _glob_paths(seen, text)
        return foreign.candidates_from_paths(paths or (), seen.cwd, readable=paths is not None)
    if tool == "WebSearch":
        return foreign.candidates_from_web(_web_results(seen, text), query)
    said = outcome.from_structured(seen.structured)
    return said if said is not None else foreign.read_result(text, merged=True, ours=tool in RECALL_TOOLS, query=query)


def _headed(text: str) -> list[str]:
    """Files of an answer that gives each a line of its own before its hits."""
    return [name for form in _HEADED for name in form.findall(text)]


def _folder(seen: Observed) -> str:
    """Where relative names of an answer start: at the folder that was searched, where it is known whole."""
    named = seen.input.get("dir_path") or seen.input.get("path")
    return named if isinstance(named, str) and named.startswith("/") else seen.cwd


def _glob_paths(seen: Observed, text: str) -> list[str] | None:
    """The files of a Glob answer; null when it cannot be read."""
    told = seen.structured.get("filenames") if isinstance(seen.structured, dict) else None
    if isinstance(told, list):
        return [name for name in told if isinstance(name, str)]
    lines = [line for line in text.splitlines() if not _FRAME.match(line)]
    paths = [line for line in lines if "/" in line or "\\" in line or "." in line.strip("(). ")]
    return paths if paths or not text.strip() or foreign.says_empty(text) else None


def _web_results(seen: Observed, text: str) -> list[Any] | None:
    """The records of a web search's answer; null when it cannot be read."""
    told = seen.structured.get("results") if isinstance(seen.structured, dict) else None
    if isinstance(told, list):
        return told
    start = text.find("Links: [")
    if start < 0:
        return [] if foreign.says_empty(text) else None
    try:
        links, _ = _JSON.raw_decode(text, start + len("Links: "))
    except (ValueError, RecursionError):
        return None
    return links if isinstance(links, list) else None


def _query(tool: str, seen: Observed) -> str:
    foreign_query = memory_servers.query_of(seen.name, seen.input)
    if foreign_query is not None:
        return foreign_query
    value = seen.input.get(_QUERY_KEYS.get(tool, "query"))
    return value if isinstance(value, str) else ""


def _safe(query: str) -> str:
    return redact_text(cut(query, MAX_STRING_CHARS))


def _command(seen: Observed) -> str:
    command = seen.input.get("command")
    return command if isinstance(command, str) else ""
