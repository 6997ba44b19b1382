"""The MCP server: tools with their schemas, each call published as its own `ToolCalled`.

Telemetry never stands in a search's way: the callback takes the event and returns at once, and what it raises is
told to the log file of the process, not to the agent.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import anyio.to_thread
import mcp_types as types
from mcp.server.mcpserver import MCPServer

from correlator.identity import recall_id
from memory.mcp.schemas import register
from memory.mcp.tools import Reply, Toolbox
from streams.clock import Clock
from streams.events import (
    AgentId,
    EventId,
    InvocationId,
    SessionId,
    Source,
    TokenCost,
    ToolCalled,
    ToolStatus,
    ToolUseId,
)
from streams.tokens import estimate_tokens

INSTRUCTIONS = (
    "Search the project's evidence before you answer from memory: features, decisions, lessons, discussions. "
    "Ask in the words of the documents, Chinese or English; name ids exactly (F102, ADR-005). "
    "Open what you use with the tool named beside each result: that is how good results rise."
)

log = logging.getLogger("trodden.mcp")

Emit = Callable[[ToolCalled], None]
"""Takes an event and returns at once."""


@dataclass(slots=True)
class Telemetry:
    """Publishes the calls of one server process as events of one session."""

    emit: Emit
    clock: Clock
    session_id: str
    agent_id: str = "mcp"
    calls: int = field(default=0)

    def begin(self) -> int:
        """Return the number of the call that begins."""
        self.calls += 1
        return self.calls

    def use_id(self, call: int) -> str:
        """Return the tool use id of a call."""
        return f"{self.session_id}:{call}"

    def recall_id(self, call: int) -> str:
        """Return the id that a search has as a recall event: its sidecar carries it as `result_set_id`."""
        return recall_id(self.session_id, self.use_id(call))

    def record(self, call: int, tool: str, arguments: dict[str, Any], reply: Reply, started: datetime) -> None:
        """Publish one call; never raises."""
        use_id = self.use_id(call)
        event = ToolCalled(
            event_id=EventId(hashlib.sha256(f"mcp:{use_id}".encode()).hexdigest()),
            occurred_at=started,
            ended_at=self.clock.now(),
            agent_id=AgentId(self.agent_id),
            runtime="mcp",
            source=Source(adapter="mcp-server", uri=self.session_id, position=call),
            invocation_id=InvocationId(self.session_id),
            session_id=SessionId(self.session_id),
            root_session_id=SessionId(self.session_id),
            tool_use_id=ToolUseId(use_id),
            id_quality="run_scoped",
            turn_index=call,
            tool=tool,
            tool_raw=f"mcp__trodden__{tool}",
            input=arguments,
            status=ToolStatus.ERROR if reply.is_error else ToolStatus.OK,
            tokens=TokenCost(result=estimate_tokens(reply.text), quality="estimated"),
            result_digest=hashlib.sha256(reply.text.encode("utf-8", "replace")).hexdigest(),
            recall=reply.outcome,
        )
        try:
            self.emit(event)
        except Exception as error:  # telemetry may not fail a search, whatever the callback does
            log.warning("call %s of %s was not published: %s", call, tool, error)


def build(toolbox: Toolbox, telemetry: Telemetry, *, version: str = "") -> MCPServer[Any]:
    """Return the server with its tools; run it with `run_stdio_async` or `run_streamable_http_async`."""
    server: MCPServer[Any] = MCPServer("trodden", instructions=INSTRUCTIONS, version=version, log_level="WARNING")

    async def call(tool: str, arguments: dict[str, Any], work: Callable[[], Reply]) -> types.CallToolResult:
        number, started = telemetry.begin(), telemetry.clock.now()
        try:
            reply = (await anyio.to_thread.run_sync(work)).sealed(telemetry.recall_id(number))
        except ValueError as error:
            reply = Reply(f"{tool}: {error}", {"error": str(error)}, is_error=True)
        given = {key: value for key, value in arguments.items() if value is not None}
        telemetry.record(number, tool, given, reply, started)
        content = types.TextContent(type="text", text=reply.text)
        return types.CallToolResult(content=[content], structured_content=reply.structured, is_error=reply.is_error)

    register(server, toolbox, call)
    return server
