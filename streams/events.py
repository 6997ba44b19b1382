"""The events that agent runtimes publish: what was called, by whom, when, and what came of it.

One event per finished tool call, one when an invocation starts, one when it ends. Every event is a
frozen value; its `event_id` is derived from the source's content, so that publishing twice adds nothing.
Times are aware UTC datetimes. `extra` keeps the fields that a newer producer wrote and we do not know.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, NewType

import msgspec

from streams.recall import RecallOutcome

AgentId = NewType("AgentId", str)
InvocationId = NewType("InvocationId", str)
SessionId = NewType("SessionId", str)
EventId = NewType("EventId", str)
ToolUseId = NewType("ToolUseId", str)

SCHEMA_VERSION = 1
"""Version of the event shapes in this file; readers accept one below and one above."""


class ToolStatus(StrEnum):
    """How a call ended; only `ok` can consume."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    INTERRUPTED = "interrupted"


class Surface(StrEnum):
    """Where a search looked: the memory store, the code base, or the web."""

    MEMORY = "memory"
    CODE_SEARCH = "code_search"
    WEB_SEARCH = "web_search"


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Where an event was observed; never part of its identity."""

    adapter: str
    uri: str = ""
    """File or endpoint, as the operator would name it."""
    position: int | None = None
    """1-based line number in the file, or the endpoint's sequence number."""


class TokenCost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Tokens that a call cost its agent; null where nobody measured."""

    result: int | None = None
    """Tokens of the result text that was shown."""
    query: int | None = None
    """Tokens of the call's input."""
    quality: Literal["native", "estimated", "unknown"] = "unknown"


class Usage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Model usage of one invocation; input excludes what came from the cache."""

    input_uncached: int | None = None
    input_cached: int | None = None
    cache_write: int | None = None
    output: int | None = None
    quality: Literal["native", "partial", "unknown"] = "unknown"


class Touch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """A file or page that a call opened or changed, where the runtime itself says so."""

    op: Literal["read", "search", "write", "edit", "delete", "list", "fetch"]
    path: str
    start_line: int | None = None
    end_line: int | None = None
    new_content: bool = True
    """False when the runtime answered that the content had not changed since the last read."""


class EventBase(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="kind",
    forbid_unknown_fields=True,
    omit_defaults=True,
    gc=False,
):
    """What every tool event carries."""

    event_id: EventId
    occurred_at: datetime
    """Event time: when it happened at the agent."""
    agent_id: AgentId
    """Who called; a subagent is `<parent>/<subagent id>`."""
    runtime: str
    """`claude-code`, `codex-cli`, `gemini-cli`, `mcp`, ..."""
    source: Source
    invocation_id: InvocationId
    session_id: SessionId
    root_session_id: SessionId
    """First session of the lineage; the message key, so that forks and subagents meet in one partition."""
    thread_id: str = ""
    schema_version: int = msgspec.field(default_factory=lambda: SCHEMA_VERSION)
    """Always written: what a reader of a later version takes for its own would not be upcast."""
    extra: dict[str, Any] = {}
    """Fields of newer producers, kept as they came."""


class InvocationStarted(EventBase, frozen=True, kw_only=True, tag="InvocationStarted"):
    """One turn of work begins: a prompt, an agent-to-agent call, or a resumed turn."""

    trigger: Literal["prompt", "agent", "resume", "unknown"] = "prompt"
    prompt: str = ""
    """The prompt after redaction, cut at 2,000 characters."""
    named_targets: tuple[str, ...] = ()
    """Paths, anchors and URLs that the prompt names: their reads tell nothing about search."""
    cwd: str = ""
    context_epoch: int = 0
    model: str = ""


class InvocationEnded(EventBase, frozen=True, kw_only=True, tag="InvocationEnded"):
    """The agent stopped, was interrupted, or the next prompt came."""

    reason: Literal["stop", "interrupted", "next_prompt", "end_of_source", "session_end"] = "stop"
    usage: Usage | None = None
    calls: int | None = None
    """Tool calls that the source holds for this invocation, subagents included; null when unknown."""


class ToolCalled(EventBase, frozen=True, kw_only=True, tag="ToolCalled"):
    """One finished tool call. `occurred_at` is the instant it started."""

    tool_use_id: ToolUseId
    """The join key between hook, transcript and trace of the same call."""
    id_quality: Literal["native", "run_scoped", "synthetic"] = "native"
    turn_index: int = 0
    """Order among calls of the same instant; 0-based position in the source's own order."""
    tool: str
    """Canonical name: Read, Grep, Glob, Bash, Edit, search_evidence, ..."""
    tool_raw: str = ""
    """The name as the runtime said it, such as `mcp__trodden__search_evidence`."""
    input: dict[str, Any] = {}
    """The call's arguments after redaction, at most 16 KiB as JSON."""
    status: ToolStatus = ToolStatus.OK
    error_kind: str | None = None
    exit_code: int | None = None
    ended_at: datetime | None = None
    cwd: str = ""
    context_epoch: int = 0
    """Rises with every compaction: results of an earlier epoch left the agent's context."""
    tokens: TokenCost = TokenCost()
    result_digest: str | None = None
    """sha256 of the result text that was shown."""
    result_bytes: int | None = None
    result_truncated: bool = False
    touched: tuple[Touch, ...] = ()
    recall: RecallOutcome | None = None
    """What a search showed, by the outcome contract; null for calls that search nothing."""


ToolEvent = ToolCalled | InvocationStarted | InvocationEnded
"""Everything that travels on `agent.tool-events.v1`."""


class MessagePosted(EventBase, frozen=True, kw_only=True, tag="MessagePosted"):
    """A chat turn of a thread shared by agents and people."""

    message_id: str
    author_kind: Literal["operator", "agent", "connector", "system"]
    text: str
    reply_to: str | None = None


class OutcomeSignalled(EventBase, frozen=True, kw_only=True, tag="OutcomeSignalled"):
    """Something outside the tool calls tells how work ended: merged, passed, accepted, approved."""

    signal: Literal["pr_merged", "ci_passed", "operator_accepted", "reviewer_approved", "reverted", "rejected"]
    actor: str
    target: str = ""
    """Commit, pull request or message that it is about."""
    evidence: str = ""
    """Pointer to where it can be checked."""


class DocumentIndexed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A document stands in a search store (key: anchor). A tombstone says that it is gone."""

    anchor: str
    path: str
    doc_kind: str
    occurred_at: datetime
    authority: str = "observed"
    status: str = "active"
    title: str = ""
    first_indexed_at: datetime | None = None
    updated_at: datetime | None = None
    aliases: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION
