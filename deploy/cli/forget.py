"""`trodden forget`: remove an agent, thread, session or query from every table, with a receipt."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from deploy import settings
from deploy.broker import broker_for
from deploy.cli import options
from deploy.settings import Settings
from streams.clock import SystemClock
from streams.emitter import KafkaEmitter
from warehouse.erasure.job import Receipt, forget
from warehouse.erasure.selection import Selection


def command(
    agent: Annotated[str | None, typer.Option(help="Everything of this agent and its subagents.")] = None,
    thread: Annotated[str | None, typer.Option(help="Everything of this thread.")] = None,
    session: Annotated[str | None, typer.Option(help="Everything of this session and its forks.")] = None,
    query_hash: Annotated[str | None, typer.Option(help="Searches whose query has this sha256 (hex).")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the receipt as one JSON document.")] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Remove what was asked from raw and derived tables and dead letters; this cannot be undone."""
    selection = Selection(agent=agent, thread=thread, session=session, query_hash=query_hash)
    if not yes:
        typer.confirm(f"Forget {selection.kind} {selection.value} for ever?", abort=True)
    receipt = asyncio.run(_forget(settings.load(data=data), selection))
    if as_json:
        typer.echo(msgspec.json.encode(receipt).decode())
    else:
        _print(receipt)


async def _forget(chosen: Settings, selection: Selection) -> Receipt:
    now = SystemClock().now()
    if not chosen.broker:  # the embedded broker keeps nothing between runs: there is no log to bury anything on
        return await forget(chosen.data_dir, selection, now)
    with broker_for(chosen) as connection:
        async with KafkaEmitter(connection) as emitter:
            return await forget(chosen.data_dir, selection, now, emitter=emitter)


def _print(receipt: Receipt) -> None:
    console = Console()
    for day in receipt.days:
        console.print(f"{day.table} {day.day}: {day.rows_forgotten} rows forgotten, {day.rows_left} left")
    rows = sum(day.rows_forgotten for day in receipt.days)
    console.print(
        f"{rows} rows of {receipt.kind} {receipt.fingerprint[:12]} forgotten, {len(receipt.files_removed)} files "
        f"removed, {receipt.tombstones} tombstones published. Search statistics follow with the next prior run."
    )
