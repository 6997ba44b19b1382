"""`trodden mcp`: the search store as MCP tools for an agent."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from deploy.broker import own_connection
from deploy.cli import options
from deploy.mcp_clients import Client, planned, written
from deploy.ranking import request_fields
from deploy.running import joined
from deploy.searching import default_mode, open_store
from deploy.settings import load
from memory.mcp.publisher import CallPublisher
from memory.mcp.server import Telemetry, build
from memory.mcp.tools import Toolbox
from memory.threads.client import Conversations
from streams.clock import SystemClock
from streams.emitter import KafkaEmitter
from streams.errors import ConfigError
from streams.log import Emitter
from warehouse.store import Warehouse

command = typer.Typer(invoke_without_command=True, help="Serve the search tools to agents over MCP.")


@command.callback()
def serve(
    context: typer.Context,
    agent: Annotated[str, typer.Option(help="Who calls: the agent id on every event.")] = "mcp",
    session: Annotated[
        str | None, typer.Option(help="Session id on every event; one for each process by default.")
    ] = None,
    docs: Annotated[Path | None, typer.Option(help="Folder to index before serving.")] = None,
    http: Annotated[str | None, typer.Option(help="host:port to serve streamable HTTP on, instead of stdio.")] = None,
    interleave: Annotated[
        bool | None,
        typer.Option("--interleave", help="Show drafts of the base and the reranked order, so that agents vote."),
    ] = None,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Serve the search tools, over stdio unless --http is given.

    Each call is published as an event, or spooled while no broker is there.
    """
    if context.invoked_subcommand is not None:
        return
    settings = load(data=data, interleave=interleave)
    clock = SystemClock()
    name = session or f"mcp-{clock.now():%Y%m%dT%H%M%S}-{os.getpid()}"

    async def connect() -> Emitter | None:
        found = joined(settings)
        if ":" not in found.broker:
            return None
        emitter = KafkaEmitter(own_connection(found), client_id="trodden-mcp")
        await emitter.start()
        return emitter

    async def run() -> None:
        with open_store(settings) as store:
            if docs is not None:
                store.index(docs)
            publisher = CallPublisher(settings.data_dir / "spool", name, connect)
            toolbox = Toolbox(
                store=store,
                conversations=Conversations(Warehouse(settings.data_dir)),
                ranking=lambda: request_fields(settings),
                default_mode=default_mode(settings),
            )
            server = build(toolbox, Telemetry(publisher.put, clock, name, agent), version=version("trodden"))
            async with publisher:
                if http is None:
                    await server.run_stdio_async()
                else:
                    host, port = _address(http)
                    await server.run_streamable_http_async(host=host, port=port)

    asyncio.run(run())


@command.command()
def install(
    claude: Annotated[bool, typer.Option("--claude", help="Claude Code: .mcp.json of this folder.")] = False,
    codex: Annotated[bool, typer.Option("--codex", help="Codex CLI: ~/.codex/config.toml.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Write without asking.")] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Add the server to a client's configuration, after showing what will be written."""
    if claude == codex:
        raise ConfigError("expected --claude or --codex, one of them")
    client: Client = "claude" if claude else "codex"
    folder = Path.cwd() if claude else Path("~/.codex").expanduser()
    plan = planned(client, folder, [sys.argv[0], "mcp", "--data", str(load(data=data).data_dir)])
    console = Console()
    console.print(f"{plan.path}:\n{plan.text}", highlight=False, markup=False, soft_wrap=True)
    if plan.is_done:
        console.print("It is there already.", highlight=False)
    elif yes or typer.confirm("Write this?"):
        written(plan)
        console.print("Written.", highlight=False)
    else:
        raise typer.Exit(1)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise ConfigError(f"expected host:port, got {text!r}")
    if host not in ("127.0.0.1", "localhost", "::1", "[::1]"):
        raise ConfigError(f"the MCP server has no password: it listens on a loopback address only, got {host!r}")
    return host.strip("[]"), int(port)
