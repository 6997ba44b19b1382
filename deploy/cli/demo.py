"""`trodden demo`: the main job on made-up sessions, and what it found."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from deploy.cli.measures import as_table
from deploy.cli.show import Watching
from deploy.demo import plan
from deploy.settings import load
from streams.clock import SystemClock

if TYPE_CHECKING:
    from deploy.demo.run import Place, Summary


def command(
    data: Annotated[Path, typer.Option(help="Folder of the demo; an earlier demo in it is replaced.")] = Path(
        "trodden-demo"
    ),
    as_of: Annotated[datetime | None, typer.Option(help="The demo's present, UTC; now by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run everything once, on made-up sessions of agents that search a made-up company's documents."""
    from deploy.demo.run import run

    present = SystemClock().now() if as_of is None else as_of.replace(tzinfo=UTC)
    with Watching(quiet=as_json) as watching:
        settings = load(data=data, flush_seconds=3.0, flush_idle_seconds=0.2)
        summary = asyncio.run(run(settings, present, watch=watching.stage))
    if as_json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
    else:
        show(summary, Console())


def show(summary: Summary, console: Console) -> None:
    """Print what the demo found, for a person who sees it for the first time."""
    console.print()
    console.print(
        f"[bold]{summary.events:,}[/] events of {summary.sessions} session files over {summary.documents} documents: "
        f"[bold]{summary.searches}[/] memory searches, [bold]{summary.consumptions}[/] consumptions.",
        highlight=False,
    )
    console.print()
    console.print(as_table(summary.measures, title="What the searches were worth, from tool calls alone"))
    console.print()
    console.print("[bold]Some searches[/]")
    for example in summary.examples:
        console.print(f"  {example}", highlight=False)
    console.print()
    console.print(f"[bold]The search “{summary.query}”, before and after learning from consumption[/]")
    console.print(_orders(summary.after))
    for place in summary.after:
        if place.anchor in (plan.RISES, plan.SINKS):
            console.print(f"  [bold]{place.anchor}[/] {place.reason}", highlight=False)
    console.print()
    console.print(f"Everything lies in [bold]{summary.folder}[/]; open catalog.duckdb read-only with DuckDB.")


def _orders(places: list[Place]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0))
    for heading in ("before", "after", "", "anchor", "title"):
        number = heading in ("before", "after")
        table.add_column(heading, justify="right" if number else "left", no_wrap=True, max_width=34)
    for place in places:
        moved = place.rank_before - place.rank
        arrow = f"[green]▲{moved}[/]" if moved > 0 else f"[red]▼{-moved}[/]" if moved < 0 else ""
        table.add_row(str(place.rank_before), str(place.rank), arrow, place.anchor, place.title)
    return table
