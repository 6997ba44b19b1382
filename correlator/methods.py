"""What each tool opens: the visible list of consuming methods, and of tools that search.

`handles_of` turns a call into what it opened; `target_match` says whether that is what a search had shown. A tool that
stands in no list opens nothing, except a foreign MCP tool, whose input may hold ids that its own server had shown.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from correlator.paths import PathKey, looks_like_a_directory, may_be_a_directory, path_key, url_key
from correlator.shell import ShellVerdict, classify
from correlator.target_match import NO_LINES, Handle
from streams.events import Surface, ToolCalled, Touch
from streams.recall import ResultStatus

SEARCH_TOOLS: Mapping[str, Surface] = {
    "search_evidence": Surface.MEMORY,
    "graph_resolve": Surface.MEMORY,
    "list_recent": Surface.MEMORY,
    "Grep": Surface.CODE_SEARCH,
    "Glob": Surface.CODE_SEARCH,
    "WebSearch": Surface.WEB_SEARCH,
}
"""Tools that search, and where."""

SHELL_TOOLS = frozenset(
    {
        "Bash",
        "PowerShell",
        "command_execution",
        "exec_command",
        "local_shell",
        "local_shell_call",
        "shell",
        "shell_command",
        "run_shell_command",
        "execute_bash",
        "terminal",
        "unified_exec",
    }
)
"""Tools whose input is a shell command."""

EDIT_TOOLS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit", "ApplyPatch", "apply_patch"})
"""Tools that change the files they name."""

Opener = Callable[[ToolCalled, PathKey | None], Iterable[Handle]]


def text_of(tool_input: Mapping[str, Any], *names: str) -> str:
    """Return the first of these inputs that is text and not empty; camelCase and snake_case are two names."""
    for name in names:
        if (value := tool_input.get(name)) and isinstance(value, str):
            return value
    return ""


def command_of(tool_input: Mapping[str, Any]) -> str:
    """Return the shell command of a call; an argument list is quoted back into one."""
    value = tool_input.get("command") or tool_input.get("cmd") or ""
    if isinstance(value, list):
        return shlex.join(str(part) for part in value)
    return value if isinstance(value, str) else ""


def shell_of(call: ToolCalled) -> ShellVerdict | None:
    """Return what a shell call does, or null for another tool."""
    if call.tool not in SHELL_TOOLS:
        return None
    return classify(command_of(call.input), powershell=call.tool == "PowerShell")


def _path(call: ToolCalled, cwd: PathKey | None, raw: str, **more: Any) -> Handle:
    return Handle("path", raw, path_key(raw, call.cwd), cwd=cwd, **more)


def _read(call: ToolCalled, cwd: PathKey | None) -> Iterable[Handle]:
    given = call.input
    raw = text_of(given, "file_path", "path", "absolute_path", "filePath", "notebook_path", "uri")
    if not raw:
        return tuple(_read_more(call, cwd))
    lines = _lines(given)
    touched = call.touched
    fresh = not touched or (touched[0].new_content and all(touch.new_content for touch in touched[1:]))
    named = Handle("path", raw, path_key(raw, call.cwd), lines, "", False, fresh, cwd)
    if _PLAIN_READ.issuperset(given) and not _others(call, raw, "read"):
        return (named,)
    others = [_path(call, cwd, each.path, lines=lines, new_content=fresh) for each in _others(call, raw, "read")]
    return (named, *others, *_read_more(call, cwd))


def _others(call: ToolCalled, raw: str, *ops: str) -> Sequence[Touch]:
    """What the runtime says was touched beside the path that the input names: a link's target, a moved file."""
    touched = call.touched
    if not touched or (len(touched) == 1 and touched[0].path == raw):
        return ()
    return [each for each in touched if each.path != raw and each.op in ops]


_PLAIN_READ = frozenset({"file_path", "path", "offset", "limit", "description", "pages"})
"""Inputs of a read that name one file."""


def _read_more(call: ToolCalled, cwd: PathKey | None) -> Iterator[Handle]:
    """Several files at once, or a passage."""
    several = call.input.get("paths") or call.input.get("absolute_paths")
    if isinstance(several, list):
        yield from (_path(call, cwd, str(each)) for each in several if each)
    if passage := text_of(call.input, "passageId", "passage_id"):
        yield Handle("passage", passage)


def _lines(tool_input: Mapping[str, Any]) -> tuple[int | None, int | None]:
    if len(tool_input) == 1:
        return NO_LINES
    start, limit = tool_input.get("offset"), tool_input.get("limit")
    if isinstance(limit, int):
        first = start if isinstance(start, int) else 1
        return first, first + limit - 1
    if start is None:
        start = tool_input.get("start_line", tool_input.get("startLine"))
    end = tool_input.get("end_line", tool_input.get("endLine"))
    return (start, end if isinstance(end, int) else None) if isinstance(start, int) else NO_LINES


def _grep(call: ToolCalled, cwd: PathKey | None) -> Iterator[Handle]:
    raw = text_of(call.input, "path", "file_path", "dir_path")
    if not raw or looks_like_a_directory(raw):
        return
    hits = _hit_depths(call)
    depth = len(path_key(raw, call.cwd).parts)
    if not any(hit > depth for hit in hits):
        yield _path(call, cwd, raw, maybe_directory=not hits and may_be_a_directory(raw))


def _hit_depths(call: ToolCalled) -> list[int]:
    """How many components the paths of a search's hits have: hits below its path betray that it is a directory."""
    shown = call.recall.candidates if call.recall is not None else ()
    return [len(path_key(path, call.cwd).parts) for each in shown if (path := getattr(each.target, "path", ""))]


def _edit(call: ToolCalled, cwd: PathKey | None) -> Iterable[Handle]:
    raw = text_of(call.input, "file_path", "notebook_path", "path", "filePath")
    others = [_path(call, cwd, each.path, edit=True) for each in _others(call, raw, "edit", "write", "delete")]
    return (Handle("path", raw, path_key(raw, call.cwd), NO_LINES, "", True, True, cwd), *others) if raw else others


_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$|^\*\*\* Move to: (.+)$|^--- a/(\S+)", re.M)


def patched_paths(patch: str) -> list[str]:
    """Return the files that a patch text changes, once each, in order."""
    found = (next(group for group in match.groups() if group).strip() for match in _PATCHED.finditer(patch))
    return list(dict.fromkeys(found))


def _patch(call: ToolCalled, cwd: PathKey | None) -> Iterator[Handle]:
    touched = [touch.path for touch in call.touched if touch.op in ("edit", "write", "delete")]
    text = text_of(call.input, "input", "patch", "command", "patchText")
    yield from (_path(call, cwd, raw, edit=True) for raw in touched or patched_paths(text))


def _graph(call: ToolCalled, cwd: PathKey | None) -> Iterator[Handle]:
    recall = call.recall
    resolved = recall.resolved_anchor if recall else None
    resolved = resolved or text_of(call.input, "selectedAnchor", "selected_anchor", "centerAnchor", "center_anchor")
    if resolved:
        yield Handle("resolved", resolved)
    elif recall is not None and recall.result_status is ResultStatus.NO_RESULTS:
        return
    elif query := text_of(call.input, "query", "anchor"):
        yield Handle("query", query)


def _thread(call: ToolCalled, cwd: PathKey | None) -> Iterator[Handle]:
    thread = text_of(call.input, "threadId", "thread_id", "thread")
    if thread:
        yield Handle("thread", thread.removeprefix("thread-") if thread.startswith("thread-") else thread)
    if message := text_of(call.input, "messageId", "message_id", "around"):
        yield Handle("message", message, parent=thread)


def _session(call: ToolCalled, cwd: PathKey | None) -> Iterator[Handle]:
    if session := text_of(call.input, "sessionId", "session_id", "session"):
        yield Handle("session", session)


def _invocation(call: ToolCalled, cwd: PathKey | None) -> Iterator[Handle]:
    if invocation := text_of(call.input, "invocationId", "invocation_id"):
        yield Handle("invocation", invocation, parent=text_of(call.input, "sessionId", "session_id"))


def _fetch(call: ToolCalled, cwd: PathKey | None) -> Iterator[Handle]:
    if url := text_of(call.input, "url", "uri"):
        yield Handle("url", url_key(url))
    for touch in call.touched:
        if touch.op == "fetch":
            yield Handle("url", url_key(touch.path))


def _cite(call: ToolCalled, cwd: PathKey | None) -> Iterator[Handle]:
    for touch in call.touched:
        yield _path(call, cwd, touch.path, lines=(touch.start_line, touch.end_line))


OPENERS: Mapping[str, Opener] = {
    "Read": _read,
    "NotebookRead": _read,
    "Grep": _grep,
    "Glob": _grep,
    "Edit": _edit,
    "Write": _edit,
    "MultiEdit": _edit,
    "NotebookEdit": _edit,
    "ApplyPatch": _patch,
    "apply_patch": _patch,
    "graph_resolve": _graph,
    "get_thread_context": _thread,
    "read_session_events": _session,
    "read_session_digest": _session,
    "read_invocation_detail": _invocation,
    "WebFetch": _fetch,
    "ReadMcpResourceTool": _fetch,
    "memory_citation": _cite,
}
"""Consuming methods by canonical name; shell tools and foreign MCP tools are recognised apart."""

_ID_NAME = re.compile(r"(?:^|_|(?<=[a-z]))(?:ids?|Ids?|names?|Names?|keys?|uri|url|path|anchor|ref|hash|slug)$")


def server_of(call: ToolCalled) -> str:
    """Return the MCP server of a call by its raw name; empty for other tools."""
    name = call.tool_raw or call.tool
    if not name.startswith("mcp__"):
        return ""
    server, found, _ = name[5:].partition("__")
    return server if found else ""


def _foreign(call: ToolCalled, cwd: PathKey | None) -> Iterable[Handle]:
    server = server_of(call)
    return _of_server(call, server, cwd) if server else ()


def _of_server(call: ToolCalled, server: str, cwd: PathKey | None) -> Iterator[Handle]:
    for touch in call.touched:
        if touch.op == "fetch":
            yield Handle("id", touch.path, parent=server)
    for name, value in call.input.items():
        if not _ID_NAME.search(name):
            continue
        for identity in _identities(value):
            yield Handle("id", identity, parent=server)
            if "path" in name.lower() or name == "uri":
                yield _path(call, cwd, identity)


def _identities(value: object) -> list[str]:
    """Ids come as one value, as a list, or as a list written as text: `"[1,2]"`, `"1,2"`."""
    if isinstance(value, list):
        return [str(each) for each in value if isinstance(each, str | int)]
    if isinstance(value, str):
        listed = [each.strip(" '\"") for each in value.strip("[]").split(",")]
        return [value] if len(listed) == 1 and listed[0] == value else [value, *(each for each in listed if each)]
    return [str(value)] if isinstance(value, int) and not isinstance(value, bool) else []


def _of_shell(call: ToolCalled, verdict: ShellVerdict, cwd: PathKey | None) -> Iterator[Handle]:
    parsed = [touch for touch in call.touched if touch.op in ("read", "search")]
    if parsed:
        for touch in parsed:
            if touch.path and not looks_like_a_directory(touch.path):
                yield _path(call, cwd, touch.path, lines=(touch.start_line, touch.end_line))
    else:
        for operand in verdict.shown:
            key = path_key(operand.path, call.cwd)
            yield Handle("path", operand.path, key, operand.lines, "", False, True, cwd, operand.maybe_directory)
    for raw in verdict.written or [touch.path for touch in call.touched if touch.op in ("edit", "write", "delete")]:
        yield _path(call, cwd, raw, edit=True)


def handles_of(call: ToolCalled, verdict: ShellVerdict | None) -> tuple[Handle, ...]:
    """Return what a call opened, in order.

    Args:
        call: One finished call, whatever its status.
        verdict: What its shell command does; null for other tools.
    """
    cwd = path_key(call.cwd) if call.cwd else None
    if verdict is not None:
        idle = not (verdict.shown or verdict.written or call.touched)
        return () if idle else tuple(_of_shell(call, verdict, cwd))
    opener = OPENERS.get(call.tool, _foreign)
    return tuple(opener(call, cwd))
