"""The tools as the protocol shows them: names, descriptions with tips, every argument with its meaning and bounds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import mcp_types as types
from mcp.server.mcpserver import MCPServer
from pydantic import Field

from memory.mcp.tools import Reply, Toolbox
from memory.model import Depth, Mode, Scope

Call = Callable[[str, dict[str, Any], Callable[[], Reply]], Awaitable[types.CallToolResult]]
"""Runs a tool's work off the event loop and publishes the call: (name, arguments, work)."""

Query = Annotated[str, Field(description="Words of the documents, an id, or a question.", max_length=4096)]
Limit = Annotated[int, Field(description="Results to return.", ge=1, le=20)]
Ids = Annotated[list[str] | None, Field(description="Any of these; all when left out.")]
ThreadId = Annotated[str, Field(description="Id of the thread, as in `thread-<id>`.", max_length=512)]
SessionId = Annotated[str, Field(description="Id of the session, as in `session-<id>`.", max_length=512)]
When = Annotated[str | None, Field(description="ISO date (the whole day) or instant.", max_length=64)]

READS = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = types.ToolAnnotations(
    read_only_hint=False, idempotent_hint=True, destructive_hint=False, open_world_hint=False
)


def register(server: MCPServer[Any], toolbox: Toolbox, call: Call) -> None:
    """Add every tool to a server."""
    _search_tools(server, toolbox, call)
    _conversation_tools(server, toolbox, call)
    _memory_tools(server, toolbox, call)


def _search_tools(server: MCPServer[Any], toolbox: Toolbox, call: Call) -> None:
    @server.tool(title="Search the evidence", annotations=READS)
    async def search_evidence(  # noqa: PLR0913 - the arguments are the schema of the tool
        query: Query,
        mode: Annotated[Mode | None, Field(description="lexical: names, ids; hybrid: questions.")] = None,
        scope: Annotated[Scope, Field(description="Where to look.")] = "all",
        depth: Annotated[Depth, Field(description="raw: the passages themselves.")] = "summary",
        kinds: Ids = None,
        statuses: Ids = None,
        date_from: When = None,
        date_to: When = None,
        thread_id: Annotated[str | None, Field(description="Only in this thread.", max_length=512)] = None,
        context_window: Annotated[int, Field(description="Neighbour passages on each side, raw only.", ge=0, le=5)] = 0,
        intent: Annotated[
            Literal["coverage"] | None, Field(description="coverage: everything on it, not only the best.")
        ] = None,
        offset: Annotated[int, Field(description="First row of a coverage page.", ge=0, le=1000)] = 0,
        limit: Limit = 5,
    ) -> types.CallToolResult:
        """Search features, decisions, lessons, plans, discussions and threads of this project.

        Tips: name ids exactly (F102, ADR-005). Two or three telling words beat a sentence; Chinese and English find
        each other. No confident match? Use other words of the documents, not more words. Asking "which ones" or
        "all"? Set intent to coverage. Open what you use with the tool named beside each result.
        """
        arguments = {"query": query, "mode": mode, "scope": scope, "depth": depth, "kinds": kinds, "limit": limit}
        arguments |= {"statuses": statuses, "date_from": date_from, "date_to": date_to, "thread_id": thread_id}
        arguments |= {"intent": intent, "offset": offset or None, "context_window": context_window or None}
        return await call(
            "search_evidence",
            arguments,
            lambda: toolbox.search_evidence(
                query,
                mode=mode,
                scope=scope,
                depth=depth,
                kinds=tuple(kinds or ()),
                statuses=tuple(statuses or ()),
                date_from=date_from,
                date_to=date_to,
                thread_id=thread_id,
                context_window=context_window,
                intent=intent,
                offset=offset,
                limit=limit,
            ),
        )

    @server.tool(title="Follow the graph", annotations=READS)
    async def graph_resolve(
        query: Annotated[str, Field(description="An id; other words give candidates to choose from.", max_length=512)],
        depth: Annotated[int, Field(description="Steps to follow.", ge=1, le=3)] = 1,
        relations: Annotated[
            list[str] | None, Field(description="Only these, such as supersedes, related_to, wikilink.")
        ] = None,
    ) -> types.CallToolResult:
        """See what a document supersedes, builds on and is linked with, heaviest links first.

        Tips: give an exact id from a search. Only an id opens a document; anything else returns candidates.
        """
        arguments = {"query": query, "depth": depth, "relations": relations}
        return await call(
            "graph_resolve", arguments, lambda: toolbox.graph_resolve(query, depth=depth, relations=relations or ())
        )

    @server.tool(title="What changed lately", annotations=READS)
    async def list_recent(
        since: Annotated[str, Field(description="7d, 24h, 30m, 2w, or an ISO date.", max_length=64)] = "7d",
        scope: Annotated[
            Literal["all", "docs", "threads", "memory", "trajectories"], Field(description="Where.")
        ] = "all",
        kinds: Ids = None,
        limit: Annotated[int, Field(description="Items to return.", ge=1, le=100)] = 20,
    ) -> types.CallToolResult:
        """List what changed, newest first, by when the content changed."""
        arguments = {"since": since, "scope": scope, "kinds": kinds, "limit": limit}
        return await call(
            "list_recent", arguments, lambda: toolbox.list_recent(since, scope=scope, kinds=kinds or (), limit=limit)
        )


def _conversation_tools(server: MCPServer[Any], toolbox: Toolbox, call: Call) -> None:
    @server.tool(title="Read a thread", annotations=READS)
    async def get_thread_context(
        thread_id: ThreadId,
        message_id: Annotated[str | None, Field(description="Read around this message.", max_length=512)] = None,
        before: Annotated[int, Field(description="Messages before it.", ge=0, le=50)] = 3,
        after: Annotated[int, Field(description="Messages after it.", ge=0, le=50)] = 3,
    ) -> types.CallToolResult:
        """Read the messages of a thread around one, or its newest part."""
        arguments = {"thread_id": thread_id, "message_id": message_id, "before": before, "after": after}
        return await call(
            "get_thread_context", arguments, lambda: toolbox.get_thread_context(thread_id, message_id, before, after)
        )

    @server.tool(title="List threads", annotations=READS)
    async def list_threads(limit: Annotated[int, Field(ge=1, le=100)] = 20) -> types.CallToolResult:
        """List the threads that were active last."""
        return await call("list_threads", {"limit": limit}, lambda: toolbox.list_threads(limit))

    @server.tool(title="List the sessions of a lineage", annotations=READS)
    async def list_session_chain(session_id: SessionId) -> types.CallToolResult:
        """List a session with its forks, resumptions and subagents, or all sessions of a thread."""
        return await call(
            "list_session_chain", {"session_id": session_id}, lambda: toolbox.list_session_chain(session_id)
        )

    @server.tool(title="Read a session's digest", annotations=READS)
    async def read_session_digest(session_id: SessionId) -> types.CallToolResult:
        """Read what a session was asked, what it searched, opened and changed."""
        return await call(
            "read_session_digest", {"session_id": session_id}, lambda: toolbox.read_session_digest(session_id)
        )

    @server.tool(title="Read a session event by event", annotations=READS)
    async def read_session_events(
        session_id: SessionId,
        after: Annotated[int, Field(description="Events to skip: next_after of the page before.", ge=0)] = 0,
        limit: Annotated[int, Field(ge=1, le=200)] = 50,
    ) -> types.CallToolResult:
        """Read a session call by call."""
        arguments = {"session_id": session_id, "after": after, "limit": limit}
        return await call(
            "read_session_events", arguments, lambda: toolbox.read_session_events(session_id, after, limit)
        )

    @server.tool(title="Read one invocation", annotations=READS)
    async def read_invocation_detail(
        session_id: SessionId, invocation_id: Annotated[str, Field(max_length=512)]
    ) -> types.CallToolResult:
        """Read one turn of work call by call."""
        arguments = {"session_id": session_id, "invocation_id": invocation_id}
        return await call(
            "read_invocation_detail", arguments, lambda: toolbox.read_invocation_detail(session_id, invocation_id)
        )


def _memory_tools(server: MCPServer[Any], toolbox: Toolbox, call: Call) -> None:
    @server.tool(title="Gather what bears on a question", annotations=READS)
    async def reflect(query: Query, limit: Limit = 8) -> types.CallToolResult:
        """Gather the passages that bear on a question, with their sources. No model judges them: you do."""
        return await call("reflect", {"query": query, "limit": limit}, lambda: toolbox.reflect(query, limit))

    @server.tool(title="Remember something", annotations=WRITES)
    async def retain_memory(
        content: Annotated[str, Field(description="What to remember, with its reason.", max_length=50_000)],
        tags: Annotated[list[str] | None, Field(description="Words to find it by.")] = None,
    ) -> types.CallToolResult:
        """Remember a fact or lesson for later searches. Saying the same again only adds weight."""
        return await call(
            "retain_memory", {"content": content, "tags": tags}, lambda: toolbox.retain_memory(content, tags or ())
        )
