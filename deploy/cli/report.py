"""`trodden report`: one page of a time window, for people without a terminal."""

from __future__ import annotations

from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from deploy.cli import options
from hub.report import gather, page
from streams.clock import SystemClock
from warehouse.store import Warehouse


def command(
    html: Annotated[Path, typer.Option("--html", help="File to write.")] = Path("trodden-report.html"),
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days before the as-of instant.")] = 30,
    surface: Annotated[str, typer.Option(help="memory, code_search, web_search, or all.")] = "memory",
    as_of: Annotated[datetime | None, typer.Option(help="Instant to look back from, UTC; now by default.")] = None,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Write a self-contained page: figures, their course by day, documents, what to look at first."""
    at = options.instant(as_of, SystemClock())
    warehouse = Warehouse(options.data_folder(data))
    text = page(gather(warehouse, at, days, surface=None if surface == "all" else surface), style=style())
    html.write_text(text, encoding="utf-8")
    typer.echo(f"{html}: {len(text.encode()):,} bytes")


def style() -> str:
    """Return the style sheet of the page."""
    return files("hub").joinpath("report.css").read_text(encoding="utf-8")
