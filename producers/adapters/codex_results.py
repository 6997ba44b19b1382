"""What a Codex item says of one call: how it was asked, what came of it, and what the runtime understood of it."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from producers.observed import Observed
from producers.records import mapping, sequence, text, whole
from producers.touches import absolute
from streams.events import ToolStatus, Touch, Usage

_HEADER = re.compile(
    r"\A(?:Chunk ID: .*\n)?(?:Wall time: .*\n)?(?:Process exited with code (?P<code>-?\d+)\n"
    r"|Process running with session ID (?P<session>\d+)\n)?(?:Original token count: (?P<tokens>\d+)\n)?Output:\n"
)
_LEGACY_CODE = re.compile(r"\AExit code: (-?\d+)\n")
_REFUSED = re.compile(r"\A(?:exec command )?(?:rejected by user|.*\bdenied by (?:the )?user|aborted by user)", re.I)
_ABORTED = re.compile(r"\Aaborted\b", re.I)
_SAYS_NOTHING_FOUND = frozenset({"rg", "grep", "egrep", "fgrep", "ag", "ack", "diff", "test", "[", "cmp", "pgrep"})
"""Commands whose exit code 1 says "nothing found" or "they differ", not that they failed."""


def asked(payload: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return name and input of a call item."""
    if payload.get("type") == "local_shell_call":
        action = mapping(payload.get("action"))
        found = {"command": _command(action.get("command")), "workdir": text(action.get("working_directory"))}
        return "local_shell", {name: value for name, value in found.items() if value}
    name = text(payload.get("name")) or "unknown"
    namespace = text(payload.get("namespace"))
    name = f"{namespace}__{name.lstrip('_')}" if namespace.startswith("mcp__") else name
    if payload.get("type") == "custom_tool_call":
        return name, {"input": text(payload.get("input"))}
    return name, _arguments(payload.get("arguments"))


def _arguments(raw: Any) -> dict[str, Any]:
    """Arguments are JSON inside a string; what was cut or is no JSON is kept as text."""
    value = raw
    if isinstance(raw, str):
        try:
            value = json.loads(raw) if raw.strip() else {}
        except (ValueError, RecursionError):
            found = re.search(r'"(?:cmd|command)":\s*"((?:[^"\\]|\\.)*)"', raw)
            return {"command": _unescaped(found.group(1)), "_cut": True} if found else {"arguments": raw}
    if not isinstance(value, dict):
        return {"arguments": value}
    command = value.pop("cmd", None) or value.get("command")
    return value if command is None else value | {"command": _command(command)}


def _unescaped(quoted: str) -> str:
    try:
        return str(json.loads(f'"{quoted}"'))
    except ValueError:
        return quoted


def _command(command: Any) -> str:
    if isinstance(command, list):
        words = [str(word) for word in command]
        if len(words) == 3 and words[1] in ("-lc", "-c") and words[0].endswith("sh"):
            return words[2]
        return shlex.join(words)
    return text(command)


def output_text(output: Any) -> str:
    """Return the text of an output: a string, or the text parts of a list."""
    if isinstance(output, list):
        return "\n".join(text(mapping(part).get("text")) for part in output if "text" in mapping(part))
    return text(output)


def answered(seen: Observed, output: Any) -> None:
    """Fill in what came of a call: text, exit code, and how it ended."""
    shown = output_text(output)
    if isinstance(output, dict):
        shown = text(output.get("content")) or json.dumps(output, ensure_ascii=False)
    code: int | None = None
    wrapped = _wrapped(shown)
    if wrapped is not None:
        shown, code = wrapped
    elif header := _HEADER.match(shown):
        code = whole(header["code"])
        shown = shown[header.end() :]
    elif legacy := _LEGACY_CODE.match(shown):
        code = int(legacy[1])
    seen.text = shown if seen.text is None or not seen.extra.get("told") else seen.text
    ended(seen, code)


def _wrapped(shown: str) -> tuple[str, int | None] | None:
    """Older outputs are JSON in a string: `{"output": ..., "metadata": {"exit_code": 0}}`."""
    if not shown.startswith('{"output"'):
        return None
    try:
        value = json.loads(shown)
    except (ValueError, RecursionError):
        return None
    return text(value.get("output")), whole(mapping(value.get("metadata")).get("exit_code"))


def ended(seen: Observed, code: int | None) -> None:
    """Settle how a call ended, by its exit code and the first words of its text."""
    shown = seen.text or ""
    if code is not None:
        seen.exit_code = code
    if _REFUSED.match(shown):
        seen.status, seen.extra = ToolStatus.DENIED, seen.extra | {"error_kind": "user_rejected"}
    elif _ABORTED.match(shown):
        seen.status, seen.extra = ToolStatus.INTERRUPTED, seen.extra | {"error_kind": "interrupted"}
    elif seen.exit_code and not (seen.exit_code == 1 and _first_word(seen) in _SAYS_NOTHING_FOUND):
        seen.status, seen.extra = ToolStatus.ERROR, seen.extra | {"error_kind": "exit_code"}
    elif seen.status is None:
        seen.status = ToolStatus.OK


def failed(seen: Observed) -> bool:
    """Tell whether a call ended in an error."""
    return seen.status is ToolStatus.ERROR


def _first_word(seen: Observed) -> str:
    words = text(seen.input.get("command")).split(maxsplit=1)
    return words[0].rpartition("/")[2] if words else ""


def understood(kind: str, payload: dict[str, Any], seen: Observed) -> None:
    """Fill in what the runtime itself understood of a call: a command's files, a patch's changes, an MCP answer."""
    if kind == "exec_command_end":
        shown = payload.get("aggregated_output")
        if isinstance(shown, str):
            seen.text, seen.extra = shown, seen.extra | {"told": True}
        seen.touched = _parsed(sequence(payload.get("parsed_cmd")), text(payload.get("cwd")) or seen.cwd)
        ended(seen, whole(payload.get("exit_code")))
    elif kind == "patch_apply_end":
        changes = mapping(payload.get("changes"))
        seen.touched = tuple(touch for path, change in changes.items() for touch in _changed(path, change, seen.cwd))
        if payload.get("success") is False:
            seen.status, seen.extra = ToolStatus.ERROR, seen.extra | {"error_kind": "error"}
    elif kind == "mcp_tool_call_end":
        _mcp(payload, seen)


def _mcp(payload: dict[str, Any], seen: Observed) -> None:
    invocation, result = mapping(payload.get("invocation")), mapping(payload.get("result"))
    if text(invocation.get("server")) and text(invocation.get("tool")):
        seen.name = f"mcp__{invocation['server']}__{invocation['tool']}"
    answer = mapping(result.get("Ok"))
    if answer:
        seen.text, seen.extra = output_text(answer.get("content")), seen.extra | {"told": True}
        seen.structured = answer.get("structuredContent", answer.get("structured_content"))
    wrong = answer.get("isError") is True or answer.get("is_error") is True or "Err" in result
    if wrong:
        seen.status, seen.extra = ToolStatus.ERROR, seen.extra | {"error_kind": "mcp_error"}


def _parsed(commands: list[Any], cwd: str) -> tuple[Touch, ...]:
    """The files that the runtime says a command read; anything it does not know leaves the command to our grammar."""
    parts = [mapping(part) for part in commands]
    if not parts or any(part.get("type") != "read" for part in parts):
        return ()
    paths = [text(part.get("path")) or text(part.get("name")) for part in parts]
    return tuple(Touch(op="read", path=absolute(path, cwd)) for path in paths if path)


def _changed(path: str, change: Any, cwd: str) -> list[Touch]:
    kinds = mapping(change)
    kind = text(kinds.get("type")) or next(iter(kinds), "update")
    moved = text(kinds.get("move_path")) or text(mapping(kinds.get(kind)).get("move_path"))
    op: Any = {"add": "write", "update": "edit", "delete": "delete"}.get(kind, "edit")
    touches = [Touch(op=op, path=absolute(path, cwd))]
    return [*touches, Touch(op="write", path=absolute(moved, cwd))] if moved else touches


def web(action: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return name and input of a web action: a search, or a page that is opened or searched."""
    url = text(action.get("url"))
    if action.get("type") in ("open_page", "find_in_page") and url:
        return "WebFetch", {"url": url} | ({"pattern": action["pattern"]} if "pattern" in action else {})
    return "web_search", {"query": text(action.get("query"))}


def added(usage: Usage | None, spent: dict[str, int]) -> Usage:
    """Return usage with more spent. Codex counts cached input inside input, we count it beside."""
    cached = spent.get("cached_input_tokens", 0)
    known = usage or Usage(input_uncached=0, input_cached=0, output=0, quality="native")
    return Usage(
        input_uncached=(known.input_uncached or 0) + spent.get("input_tokens", 0) - cached,
        input_cached=(known.input_cached or 0) + cached,
        output=(known.output or 0) + spent.get("output_tokens", 0),
        quality="native",
    )
