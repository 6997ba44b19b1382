"""`trodden mcp`: the search store as MCP tools for an agent."""

from __future__ import annotations

import asyncio
import os
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from deploy.broker import own_connection
from deploy.cli import options
from deploy.running import joined
from deploy.settings import load
from memory.mcp.publisher import CallPublisher
from memory.mcp.server import Telemetry, build
from memory.mcp.tools import Toolbox
from memory.store import SearchStore
from streams.clock import SystemClock
from streams.emitter import KafkaEmitter
from streams.log import Emitter


def command(
    agent: Annotated[str, typer.Option(help="Who calls: the agent id on every event.")] = "mcp",
    session: Annotated[
        str | None, typer.Option(help="Session id on every event; one for each process by default.")
    ] = None,
    docs: Annotated[Path | None, typer.Option(help="Folder to index before serving.")] = None,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Serve the search tools over stdio. Each call is published as an event, or spooled while no broker is there."""
    settings = load(data=data)
    clock = SystemClock()
    name = session or f"mcp-{clock.now():%Y%m%dT%H%M%S}-{os.getpid()}"

    async def connect() -> Emitter | None:
        found = joined(settings)
        if ":" not in found.broker:
            return None
        emitter = KafkaEmitter(own_connection(found), client_id="trodden-mcp")
        await emitter.start()
        return emitter

    async def serve() -> None:
        with SearchStore.open(settings.memory_dir) as store:
            if docs is not None:
                store.index(docs)
            publisher = CallPublisher(settings.data_dir / "spool", name, connect)
            toolbox = Toolbox(store=store, rerank=settings.rerank, estimator=settings.estimator)
            server = build(toolbox, Telemetry(publisher.put, clock, name, agent), version=version("trodden"))
            async with publisher:
                await server.run_stdio_async()

    asyncio.run(serve())
