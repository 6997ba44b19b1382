"""Canonical tool names: what each runtime calls its tools, and what they are called on the log.

The tables are data. A tool that no table knows keeps its own name: it is passed on, never dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RECALL_TOOLS = frozenset({"search_evidence", "graph_resolve", "list_recent"})
"""The memory searches of the specification."""

MEMORY_TOOLS = RECALL_TOOLS | {
    "get_thread_context",
    "list_threads",
    "list_session_chain",
    "read_session_digest",
    "read_session_events",
    "read_invocation_detail",
    "reflect",
    "retain_memory",
}
"""Tools of the search store: known by their own name, whatever server offers them."""

CANONICAL: Mapping[str, Mapping[str, str]] = {
    "claude-code": {
        "Task": "Agent",
        "PowerShell": "Bash",
        "BashOutput": "TaskOutput",
        "KillBash": "TaskStop",
        "KillShell": "TaskStop",
    },
    "codex-cli": {
        "shell": "Bash",
        "shell_command": "Bash",
        "exec_command": "Bash",
        "local_shell": "Bash",
        "local_shell_call": "Bash",
        "command_execution": "Bash",
        "unified_exec": "Bash",
        "write_stdin": "write_stdin",
        "apply_patch": "ApplyPatch",
        "file_change": "ApplyPatch",
        "web_search": "WebSearch",
        "web_search_call": "WebSearch",
        "update_plan": "TodoWrite",
        "spawn_agent": "Agent",
    },
    "gemini-cli": {
        "read_file": "Read",
        "read_many_files": "Read",
        "search_file_content": "Grep",
        "grep_search": "Grep",
        "glob": "Glob",
        "list_directory": "LS",
        "run_shell_command": "Bash",
        "replace": "Edit",
        "write_file": "Write",
        "web_fetch": "WebFetch",
        "google_web_search": "WebSearch",
    },
    "opencode": {
        "read": "Read",
        "grep": "Grep",
        "glob": "Glob",
        "list": "LS",
        "bash": "Bash",
        "edit": "Edit",
        "write": "Write",
        "patch": "ApplyPatch",
        "webfetch": "WebFetch",
        "websearch": "WebSearch",
        "task": "Agent",
        "todowrite": "TodoWrite",
    },
    "openhands": {
        "terminal": "Bash",
        "execute_bash": "Bash",
        "grep": "Grep",
        "glob": "Glob",
        "task_tracker": "TodoWrite",
    },
}
"""Runtime -> raw name -> canonical name, where they differ."""


@dataclass(frozen=True, slots=True)
class McpName:
    """An MCP tool's name in its two parts."""

    server: str
    tool: str


def split_mcp(raw: str) -> McpName | None:
    """Return server and tool of `mcp__<server>__<tool>`, or null for any other name.

    Only the first two `__` part the name: a tool's own name may hold more. Source: Claude Code hooks reference.
    """
    parts = raw.split("__", 2)
    if len(parts) != 3 or parts[0] != "mcp" or not parts[1] or not parts[2]:
        return None
    return McpName(parts[1], parts[2])


def canonical(runtime: str, raw: str) -> str:
    """Return the name that a tool has on the log.

    A memory tool loses its MCP prefix; any other MCP tool keeps its whole name, so that two servers' `search` differ.
    """
    mcp = split_mcp(raw)
    if mcp is not None:
        return mcp.tool if mcp.tool in MEMORY_TOOLS else raw
    return CANONICAL.get(runtime, {}).get(raw, raw)
