"""Memory and documentation servers that are not ours: which tool searches, which one opens a hit, by which argument.

One row a server, data only. Source: the servers' own code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from producers.tools import split_mcp


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryServer:
    """One kind of server."""

    name: str
    server: re.Pattern[str]
    """Found in the server part of the MCP name."""
    searches: Mapping[str, str]
    """Search tool -> the argument that holds its query."""
    opens: Mapping[str, str] = field(default_factory=dict)
    """Tool that opens a hit -> the argument that holds the id or ids."""
    follows_up: bool = True
    """False where a search already shows the whole content: a hit that is never opened is not an unused one."""


MEMORY_SERVERS: tuple[MemoryServer, ...] = (
    MemoryServer(
        name="claude-mem",
        server=re.compile(r"claude-mem|mem-search"),
        searches={"search": "query", "search_observations": "query", "search_sessions": "query"},
        opens={"get_observations": "ids", "timeline": "anchor"},
    ),
    MemoryServer(
        name="engram",
        server=re.compile(r"engram"),
        searches={"mem_search": "query"},
        opens={"mem_get_observation": "id", "mem_timeline": "observation_id"},
    ),
    MemoryServer(
        name="episodic-memory",
        server=re.compile(r"episodic-memory"),
        searches={"search": "query"},
        opens={"read": "path"},
    ),
    MemoryServer(
        name="server-memory",
        server=re.compile(r"(?:^|_)memory$|server-memory"),
        searches={"search_nodes": "query"},
        opens={"open_nodes": "names"},
        follows_up=False,
    ),
    MemoryServer(
        name="mcp-memory-service",
        server=re.compile(r"memory"),
        searches={"retrieve_memory": "query", "recall_memory": "query", "search_by_tag": "tags"},
        follows_up=False,
    ),
    MemoryServer(
        name="context7",
        server=re.compile(r"context7"),
        searches={"resolve-library-id": "query"},
        opens={"query-docs": "libraryId", "get-library-docs": "context7CompatibleLibraryID"},
    ),
    MemoryServer(
        name="linear",
        server=re.compile(r"linear", re.I),
        searches={"search_documentation": "query", "list_issues": "query", "list_documents": "query"},
        opens={"get_document": "id", "get_issue": "id"},
    ),
    MemoryServer(
        name="any other memory",
        server=re.compile(r""),
        searches={"search_memory": "query", "memory_search": "query", "search_memories": "query"},
        opens={"get_memory": "id", "memory_get": "id", "read_memory": "id"},
    ),
)
"""First row that fits wins; the last one takes what names itself a memory search."""


def rule_for(raw: str) -> tuple[MemoryServer, str] | None:
    """Return the server's row and the bare tool name of an MCP tool that searches or opens memory, else null."""
    mcp = split_mcp(raw)
    if mcp is None:
        return None
    for row in MEMORY_SERVERS:
        if (mcp.tool in row.searches or mcp.tool in row.opens) and row.server.search(mcp.server):
            return row, mcp.tool
    return None


def query_of(raw: str, tool_input: Mapping[str, Any]) -> str | None:
    """Return the query of a search on a foreign memory server, or null when the call is none."""
    found = rule_for(raw)
    if found is None or found[1] not in found[0].searches:
        return None
    query = tool_input.get(found[0].searches[found[1]])
    return query if isinstance(query, str) else json.dumps(query, ensure_ascii=False) if query else ""


def opened_ids(raw: str, tool_input: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids that a call opens on a memory server: one, several, or several in a text (`"[1,2]"`, `"1,2"`)."""
    found = rule_for(raw)
    if found is None or found[1] not in found[0].opens:
        return ()
    value = tool_input.get(found[0].opens[found[1]])
    if isinstance(value, str) and (value.startswith("[") or re.fullmatch(r"\d[\d,\s]*", value)):
        value = [part.strip(" \"'") for part in value.strip("[]").split(",")]
    items = value if isinstance(value, list) else [value]
    return tuple(str(item).removeprefix("#") for item in items if isinstance(item, str | int) and str(item))
