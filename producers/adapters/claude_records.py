"""One line of a Claude Code transcript to what it tells: a prompt, a call, a result, a mark, or nothing of use.

A line holds one content block, not a message. The format is not documented and changes: an unknown type is counted,
never fatal. Source: counted on 534 public transcripts of versions 1.0 to 2.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from producers.times import instant

BOOKKEEPING = frozenset(
    {
        *("summary", "file-history-snapshot", "file-history-delta", "queue-operation", "last-prompt", "mode"),
        *("permission-mode", "ai-title", "custom-title", "agent-name", "agent-setting", "agent-color", "pr-link"),
        *("bridge-session", "tag", "progress"),
    }
)
"""Line types that tell nothing of calls. `progress` embeds copies of what other files tell first-hand."""

_NO_PROMPT = re.compile(
    r"\s*<(?:local-command-|bash-|command-stdout|user-memory-input|task-notification|system-reminder)"
    r"|Caveat: The messages below"
)
_LOCAL_COMMAND = re.compile(
    r"<command-name>/?(?:clear|compact|exit|quit|model|help|config|cost|login|logout|resume|status|mcp|memory"
    r"|permissions|doctor|usage|context|theme|vim|hooks|agents|plugin|rename|export)</command-name>"
)
_INTERRUPT = "[Request interrupted by user"


@dataclass(frozen=True, slots=True)
class Place:
    """The envelope of a line."""

    uuid: str
    parent: str
    at: datetime | None
    cwd: str
    session_id: str
    agent: str
    """Subagent id; empty on the main thread."""
    sidechain: bool
    version: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A turn begins."""

    text: str
    prompt_id: str
    trigger: Literal["prompt", "agent", "resume"] = "prompt"


@dataclass(frozen=True, slots=True)
class Call:
    """An assistant asks for a tool."""

    call_id: str
    name: str
    input: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's answer as the model saw it."""

    call_id: str
    text: str
    structured: Any
    is_error: bool


@dataclass(frozen=True, slots=True)
class Spent:
    """Usage of one message as of this line: the last line of a message tells the truth."""

    message_id: str
    usage: Mapping[str, Any]
    model: str
    stopped: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """An interruption, a compaction, its summary, a turn's end, a file or prompt that came on no line of its own."""

    kind: Literal["interrupted", "compacted", "summarised", "stopped", "attached", "queued"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing of use, and why."""

    reason: str


Record = Prompt | Call | Result | Spent | Mark | Skipped


def place_of(value: Mapping[str, Any]) -> Place:
    """Return the envelope of a line; what is missing is empty."""
    return Place(
        uuid=_text(value.get("uuid")),
        parent=_text(value.get("parentUuid")) or _text(value.get("logicalParentUuid")),
        at=instant(value.get("timestamp")),
        cwd=_text(value.get("cwd")),
        session_id=_text(value.get("sessionId")),
        agent=_text(value.get("agentId")),
        sidechain=value.get("isSidechain") is True,
        version=_text(value.get("version")),
    )


def records(value: Mapping[str, Any]) -> Iterator[Record]:
    """Yield what a line tells, in order."""
    kind = _text(value.get("type"))
    if kind == "user":
        yield from _user(value)
    elif kind == "assistant":
        yield from _assistant(value)
    elif kind == "system":
        yield _system(value)
    elif kind == "attachment":
        yield _attachment(value)
    elif kind in BOOKKEEPING:
        yield Skipped(f"bookkeeping: {kind}")
    else:
        yield Skipped(f"unknown type: {kind[:60]}")


def _user(value: Mapping[str, Any]) -> Iterator[Record]:
    content = _content(value)
    if value.get("isCompactSummary") is True:
        yield Mark("summarised")
        return
    if isinstance(content, str):
        yield _prompt(content, value)
        return
    texts: list[str] = []
    for block in content:
        kind = block.get("type")
        if kind == "tool_result":
            shown = block_text(block.get("content"))
            yield Result(_text(block.get("tool_use_id")), shown, _structured(value), block.get("is_error") is True)
        elif kind == "text":
            texts.append(_text(block.get("text")))
    if texts:
        yield _prompt("\n".join(texts), value)
    elif not content:
        yield Skipped("message without content")


def _prompt(text: str, value: Mapping[str, Any]) -> Record:
    if text.lstrip().startswith(_INTERRUPT):
        return Mark("interrupted")
    if value.get("isMeta") is True or value.get("isVisibleInTranscriptOnly") is True or _NO_PROMPT.match(text):
        return Skipped("message that is no prompt")
    if _LOCAL_COMMAND.search(text[:2_000]):
        return Skipped("local command")
    if not text.strip():
        return Skipped("message without content")
    return Prompt(text, _text(value.get("promptId")))


def _assistant(value: Mapping[str, Any]) -> Iterator[Record]:
    message = value.get("message")
    if not isinstance(message, dict):
        yield Skipped("assistant line without a message")
        return
    model = _text(message.get("model"))
    usage = message.get("usage")
    if isinstance(usage, dict) and model != "<synthetic>":
        stopped = message.get("stop_reason") == "end_turn"
        yield Spent(_text(message.get("id")) or _text(value.get("requestId")), usage, model, stopped)
    for block in _content(value):
        if isinstance(block, dict) and block.get("type") == "tool_use":
            tool_input = block.get("input")
            safe = tool_input if isinstance(tool_input, dict) else {"input": tool_input}
            yield Call(_text(block.get("id")), _text(block.get("name")) or "unknown", safe)


def _system(value: Mapping[str, Any]) -> Record:
    subtype = value.get("subtype")
    if subtype == "compact_boundary":
        return Mark("compacted")
    if subtype in ("turn_duration", "stop_hook_summary"):
        return Mark("stopped")
    return Skipped(f"system: {str(subtype)[:60]}")


def _attachment(value: Mapping[str, Any]) -> Record:
    attachment = value.get("attachment")
    if isinstance(attachment, dict) and attachment.get("type") in ("file", "compact_file_reference"):
        return Mark("attached", _text(attachment.get("filename")) or _text(attachment.get("path")))
    if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
        return Mark("queued", block_text(attachment.get("prompt")))
    return Skipped("attachment")


def _content(value: Mapping[str, Any]) -> Any:
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return content if isinstance(content, str) else []


def _structured(value: Mapping[str, Any]) -> Any:
    """The runtime's structured result; for an MCP tool the server's own structured content, where it was kept."""
    meta = value.get("mcpMeta")
    if isinstance(meta, dict):
        for key in ("structuredContent", "_meta"):
            if isinstance(meta.get(key), dict):
                return meta[key]
    return value.get("toolUseResult")


def block_text(content: Any) -> str:
    """Return the text of a result: a string as it is, the text blocks of a list joined, anything else empty."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_text(block.get("text")) for block in content if isinstance(block, dict) and "text" in block)
    return ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
