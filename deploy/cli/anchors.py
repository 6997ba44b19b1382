"""`trodden anchors`: which documents are consumed, and which lie dormant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from deploy.cli import options
from streams.clock import SystemClock
from warehouse import anchors
from warehouse.store import AnchorCounts, Warehouse

command = typer.Typer(help="Which documents are consumed, and which lie dormant.", no_args_is_help=True)

Days = Annotated[int, typer.Option(min=1, max=3650, help="Days before the as-of instant that counts are over.")]
Limit = Annotated[int, typer.Option(min=1, help="Rows shown at most.")]
Surface = Annotated[str, typer.Option(help="memory, code_search, web_search, or all.")]
AsOf = Annotated[datetime | None, typer.Option(help="Instant to look back from, UTC; now by default.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Data = Annotated[Path | None, options.DATA]


@command.command()
def popular(
    days: Days = 30,
    limit: Limit = 20,
    surface: Surface = "memory",
    as_of: AsOf = None,
    as_json: Json = False,
    data: Data = None,
) -> None:
    """Show the documents that were consumed most often."""
    found = anchors.popular(_read(days, surface, as_of, data))[:limit]
    _show(found, f"Consumed in {days} days, most often first", as_json=as_json)


@command.command()
def dormant(
    days: Days = 30,
    threshold: Annotated[int, typer.Option(min=0, help="Days without consumption from which it counts.")] = 90,
    limit: Limit = 20,
    surface: Surface = "memory",
    as_of: AsOf = None,
    as_json: Json = False,
    data: Data = None,
) -> None:
    """Show documents that nobody opened for long, then those shown in vain, then those never shown."""
    found = anchors.dormant(_read(days, surface, as_of, data), threshold=threshold)[:limit]
    _show(found, f"Not consumed for {threshold} days or more", as_json=as_json)


def _read(days: int, surface: str, as_of: datetime | None, data: Path | None) -> list[AnchorCounts]:
    at = options.instant(as_of, SystemClock())
    return Warehouse(options.data_folder(data)).anchors(at, days, surface=None if surface == "all" else surface)


def _show(found: Sequence[AnchorCounts], title: str, *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("anchor", "kind", "shown", "consumed", "outside", "dormant", "history"):
        table.add_column(name, justify="right" if name in ("shown", "consumed", "outside", "dormant") else "left")
    for anchor in found:
        dormancy = "" if anchor.dormancy_days is None else f"{anchor.dormancy_days} d"
        counts = (anchor.exposures, anchor.consumptions, anchor.consumptions_outside)
        table.add_row(anchor.anchor, anchor.doc_kind or "", *map(str, counts), dormancy, anchors.WORDS[anchor.history])
    Console().print(table if found else f"{title}: none")
