"""`trodden window-report`: how far consumptions lie from their searches, and what another window would change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from correlator.report import PolicyEffect, window_report
from deploy.cli import options
from deploy.settings import load
from streams.clock import SystemClock
from streams.events import InvocationEnded, InvocationStarted, ToolCalled
from warehouse.store import Warehouse


def command(
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days before the as-of instant.")] = 30,
    surface: Annotated[str, typer.Option(help="memory, code_search, web_search, or all.")] = "memory",
    as_of: Annotated[datetime | None, typer.Option(help="Instant to look back from, UTC; now by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Compare window policies on the recorded events: 95th percentiles, consumptions gained and lost."""
    settings = load(data=data)
    at = options.instant(as_of, SystemClock())
    events = (
        event
        for event in Warehouse(settings.data_dir).tool_events(since=at - timedelta(days=days), until=at)
        if isinstance(event, ToolCalled | InvocationStarted | InvocationEnded)
    )
    effects = window_report(events, surface=None if surface == "all" else surface, in_force=settings.policy)
    if as_json:
        typer.echo(msgspec.json.encode(effects).decode())
    else:
        Console().print(as_table(effects, title=f"{days} days before {at:%Y-%m-%d %H:%M} UTC, {surface}"))


def as_table(effects: Sequence[PolicyEffect], *, title: str) -> Table:
    """Return the policies as a table for the terminal; the first is the one in force."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("policy", no_wrap=True)
    for name in ("searches", "hit", "consumed", "gained", "lost", "calls p95", "time p95"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in effects:
        counts = (each.searches, each.consumed_searches, each.consumptions, each.gained, each.lost)
        calls = "" if each.distance_p95 is None else str(each.distance_p95)
        time = "" if each.elapsed_p95_ms is None else f"{each.elapsed_p95_ms / 1000:.1f} s"
        table.add_row(each.policy, *map(str, counts), calls, time)
    return table
