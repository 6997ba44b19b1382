"""Candidates out of the answers of tools that know nothing of our sidecar: Grep, Glob, web search, foreign memory.

Each function returns a `RecallOutcome`; when the answer cannot be understood its status is `parser_miss`, never a
zero. Only the frame of an answer decides: a snippet that quotes "No results found" does not empty it.
Each result's target is what a later call would open: a path (joined with the call's working directory), a URL or an id.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from streams import outcome
from streams.recall import Candidate, DocRef, PassageRef, RecallOutcome, ResultStatus, TargetRef, UrlRef

MAX_CANDIDATES = 200
"""Candidates kept of one answer; what lies behind was hardly looked at."""

_EMPTY = re.compile(
    r"\s*(?:search:\s*)?(?:no (?:results?|links?|files?|matches|memories|documents?|entries)\b|found 0\b)", re.I
)
_FOUND = re.compile(r"\bfound (\d+)\b", re.I)
_TRUNCATED = re.compile(r"results? (?:are|is|were) truncated|pagination = limit|\blimit: \d+", re.I)
_GREP_FRAME = re.compile(
    r"Found \d+ |\[Showing results|\(Results are|No (?:files|matches) found|Total occurrences", re.I
)
_GREP_HIT = re.compile(r"((?:[A-Za-z]:[\\/])?[^:\0]+?):(\d+)(?::|$)")
_GREP_CONTEXT = re.compile(r"-\d+-")
_LINE_ONLY = re.compile(r"\d+[:-]")
_PATHLIKE = re.compile(r"[^\s:]*[./\\][^\s:]*$")


def candidates_from_grep(text: str, call_input: Mapping[str, Any], cwd: str = "") -> RecallOutcome:
    """Return the files that a Grep answer names, in order; its input tells the mode and the file of a one-file grep."""
    lines = text.splitlines()
    body = [line for line in lines if line.strip() and line != "--" and not _GREP_FRAME.match(line)]
    truncated = any(_TRUNCATED.search(line) for line in lines if _GREP_FRAME.match(line))
    if not body:
        empty = _EMPTY.match(text) is not None or not text.strip()
        return _outcome([], surface="code_search", empty=empty, query=str(call_input.get("pattern", "")))
    names = _grep_names(body, call_input)
    return _outcome(
        [_doc(name, cwd) for name in _distinct(names)],
        surface="code_search",
        truncated=truncated,
        query=str(call_input.get("pattern", "")),
    )


def _grep_names(body: Sequence[str], call_input: Mapping[str, Any]) -> list[str]:
    if call_input.get("output_mode") == "files_with_matches":
        return [line.strip() for line in body]
    path = str(call_input.get("path") or "")
    if all(_LINE_ONLY.match(line) for line in body):
        return [path]
    names = _printed_names(body)
    return [path] if not names and "." in posixpath.basename(path) else names


def _printed_names(body: Sequence[str]) -> list[str]:
    """The files before `:line:text`, else a plain list of files, else the files before `:text`."""
    if names := [found.group(1) for line in body if (found := _GREP_HIT.match(line))]:
        return _without_context(names)
    if all(_PATHLIKE.match(line.strip()) for line in body):
        return [line.strip() for line in body]
    return [name for line in body if ":" in line and _PATHLIKE.match(name := line.partition(":")[0])]


def _without_context(names: Sequence[str]) -> list[str]:
    """A context line `a.md-3-x:9: y` looks like a hit in a file `a.md-3-x`: its file has a hit of its own."""
    known = set(names)
    return [name for name in names if not any(name[: cut.start()] in known for cut in _GREP_CONTEXT.finditer(name))]


def candidates_from_paths(paths: Iterable[str], cwd: str = "", *, readable: bool = True) -> RecallOutcome:
    """Return the files that Glob, `find` or a file list names, in order; no file is a zero where it was readable."""
    names = _distinct(path.strip() for path in paths)
    return _outcome([_doc(name, cwd) for name in names], surface="code_search", empty=readable)


_SHELL_SEARCH = re.compile(r"(?:^|[\s;|&('\"/])(?:rg|grep|egrep|fgrep|zgrep|ag|ack|fd|fdfind|find|ls-files)(?=\s)")


def candidates_from_shell(command: str, text: str, cwd: str = "") -> RecallOutcome | None:
    """Return the files that a shell search printed, or null when the command holds no search word.

    It only reads the output; whether the command was a search of the tree is for the correlator to say.
    """
    if not _SHELL_SEARCH.search(command):
        return None
    body = [line for line in text.splitlines() if line.strip() and line != "--"]
    if not body:
        return _outcome([], surface="code_search", empty=True)
    return _outcome([_doc(name, cwd) for name in _distinct(_printed_names(body))], surface="code_search")


def candidates_from_web(results: Sequence[Any] | None, query: str = "") -> RecallOutcome:
    """Return the pages of a web search: records with `url`, or groups of them under `content` or `results`.

    Args:
        results: Null when the answer could not be read; prose alone says nothing of pages either.
        query: What was asked.
    """
    found: list[Candidate] = []
    seen: set[str] = set()
    for record in _web_records(results or ()):
        url = str(record["url"])
        if url and url not in seen:
            seen.add(url)
            title = str(record.get("title") or "")
            found.append(Candidate(anchor=url, rank=len(found) + 1, target=UrlRef(url=url), title=title))
    empty = results is not None and (not results or any(_is_empty_group(each) for each in results))
    return _outcome(found, surface="web_search", empty=empty, query=query)


def _is_empty_group(record: Any) -> bool:
    return isinstance(record, Mapping) and any(record.get(key) == [] for key in ("content", "results"))


def says_empty(text: str) -> bool:
    """Whether the frame of an answer says that nothing was found: a line of it, and no result's."""
    return any(_EMPTY.match(line) for line in text.splitlines())


def _web_records(results: Iterable[Any]) -> Iterable[Mapping[str, Any]]:
    for record in results:
        if isinstance(record, Mapping) and record.get("url"):
            yield record
        elif isinstance(record, Mapping):
            for key in ("content", "results"):
                if isinstance(record.get(key), Sequence) and not isinstance(record[key], str):
                    yield from _web_records(record[key])


_LISTS = ("results", "hits", "items", "documents", "memories", "entities", "observations", "matches", "data", "nodes")
_IDS = ("anchor", "id", "_id", "uri", "url", "path", "content_hash", "memory_id", "document_id", "uuid", "name", "key")
_PATHS = ("source_path", "sourcePath", "path", "file_path", "filePath", "file", "filename")
_NESTED = ("document", "memory", "exchange", "node", "entity", "item", "record")


def candidates_from_mcp_text(text: str, query: str = "") -> RecallOutcome:
    """Return what a foreign memory or document server answered: its sidecar, else JSON, else a known text form.

    Source: the text forms of claude-mem, engram, episodic-memory, context7 and of the reference's own search tool.
    """
    if (said := outcome.parse(text)) is not None:
        return said
    try:
        decoded = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _from_prose(text, query)
    if (said := outcome.from_structured(decoded)) is not None:
        return said
    records = _records(decoded)
    if records is None:
        return _outcome([], query=query)
    found = [_record(record, rank) for rank, record in enumerate(records[:MAX_CANDIDATES], start=1)]
    known = [candidate for candidate in found if candidate is not None]
    return _outcome(known, query=query, empty=not records, count=len(records))


def _records(decoded: Any) -> list[Any] | None:
    if isinstance(decoded, list):
        return decoded
    if isinstance(decoded, dict):
        lists = [decoded[key] for key in _LISTS if isinstance(decoded.get(key), list)]
        return lists[0] if lists else None
    return None


def _record(record: Any, rank: int) -> Candidate | None:
    if isinstance(record, str | int):
        return Candidate(anchor=str(record), rank=rank, target=_by_id(str(record)))
    if not isinstance(record, Mapping):
        return None
    inner: Mapping[str, Any] = next((record[key] for key in _NESTED if isinstance(record.get(key), Mapping)), {})
    fields = {**record, **inner}
    anchor = next((str(fields[key]) for key in _IDS if isinstance(fields.get(key), str | int)), "")
    path = next((str(fields[key]) for key in _PATHS if isinstance(fields.get(key), str)), "")
    if not (anchor or path):
        return None
    target = _by_id(anchor) if not path else DocRef(path=path, anchor=anchor if anchor != path else "")
    return Candidate(anchor=anchor or path, rank=rank, target=target, title=str(fields.get("title") or ""))


def _by_id(identity: str) -> TargetRef:
    return UrlRef(url=identity) if "://" in identity else outcome.target_of(identity)


_TEXT_FORMS: tuple[re.Pattern[str], ...] = (
    re.compile(r"^\|\s*(?P<id>#[A-Z]?\d+)\s*\|", re.M),  # claude-mem: table rows, #S = session, #P = prompt
    re.compile(r"^\[\d+\]\s+#(?P<id>\d+)\b", re.M),  # engram: [rank] #id (type) - title
    re.compile(r"^\s*Lines (?P<start>\d+)-(?P<end>\d+) in (?P<path>.+?)(?: \([^)]*\))?$", re.M),  # episodic-memory
    re.compile(r"library ID:\s*(?P<id>/\S+)", re.I),  # context7
    re.compile(r"^[ \t]+anchor:[ \t]*(?P<id>.+?)[ \t]*$", re.M),  # the reference's search tool
)


def _from_prose(text: str, query: str) -> RecallOutcome:
    head = next((line for line in text.splitlines() if line.strip()), "")
    if _EMPTY.match(head):
        return _outcome([], empty=True, query=query)
    for form in _TEXT_FORMS:
        found: list[Candidate] = []
        for match in form.finditer(text):
            if (candidate := _of_match(match.groupdict(), len(found) + 1)).anchor not in {c.anchor for c in found}:
                found.append(candidate)
            if len(found) == MAX_CANDIDATES:
                break
        if found:
            counted = _FOUND.search(head)
            return _outcome(found, query=query, count=int(counted.group(1)) if counted else None)
    counted = _FOUND.search(head)
    return _outcome([], query=query, count=int(counted.group(1)) if counted else None)


def _of_match(groups: Mapping[str, str | None], rank: int) -> Candidate:
    path = groups.get("path")
    if path:
        start, end = int(groups["start"] or 0), int(groups["end"] or 0)
        anchor = f"{path}:{start}-{end}"
        passage = PassageRef(passage_id=anchor, path=path, start_line=start, end_line=end)
        return Candidate(anchor=anchor, rank=rank, target=passage)
    anchor = (groups.get("id") or "").lstrip("#")
    return Candidate(anchor=anchor, rank=rank, target=_by_id(anchor))


def read_result(text: str | None, *, merged: bool, ours: bool, query: str = "") -> RecallOutcome:
    """Return the outcome of a search from the text that was shown.

    Args:
        text: The result text; null when none came.
        merged: Whether the call's result was joined to the call at all.
        ours: A tool that speaks the contract: without its sidecar nothing is read from its prose.
        query: What was asked, kept in the outcome.
    """
    if (said := outcome.parse(text or "")) is not None:
        return said
    if not merged:
        return RecallOutcome(result_status=ResultStatus.RESULT_UNMERGED, query=query)
    if ours or not text:
        return RecallOutcome(result_status=ResultStatus.PARSER_MISS, query=query)
    return candidates_from_mcp_text(text, query)


def _doc(name: str, cwd: str) -> Candidate:
    relative = not name.startswith(("/", "~")) and not re.match(r"[A-Za-z]:[\\/]|\\\\", name)
    path = posixpath.normpath(posixpath.join(cwd, name)) if relative and cwd.startswith("/") else name
    return Candidate(anchor=name, rank=1, target=DocRef(path=path))


def _distinct(names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name]


def _outcome(
    found: Sequence[Candidate],
    *,
    surface: str = "memory",
    empty: bool = False,
    truncated: bool = False,
    query: str = "",
    count: int | None = None,
) -> RecallOutcome:
    """Number the candidates; without any, the answer is a zero only where its frame said so."""
    shown = tuple(msgspec.structs.replace(each, rank=rank) for rank, each in enumerate(found[:MAX_CANDIDATES], start=1))
    total = max(len(found), count or 0)
    status = ResultStatus.COUNTED if total else ResultStatus.NO_RESULTS if empty else ResultStatus.PARSER_MISS
    return RecallOutcome(
        result_status=status,
        result_count=None if status is ResultStatus.PARSER_MISS else total,
        query=query,
        surface=surface,
        candidates=shown,
        truncated=truncated or len(found) > MAX_CANDIDATES,
    )
