"""`trodden measures`: the figures of a time window, each with n, interval and state."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from deploy.cli import options
from streams.clock import SystemClock
from streams.errors import ConfigError
from warehouse.store import Warehouse
from warehouse.values import MeasureValue, State


def command(
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days before the as-of instant.")] = 30,
    agent: Annotated[str | None, typer.Option(help="Only searches of this agent.")] = None,
    runtime: Annotated[str | None, typer.Option(help="Only searches of this runtime, such as claude-code.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only searches by this tool, such as search_evidence.")] = None,
    surface: Annotated[str, typer.Option(help="memory, code_search, web_search, or all.")] = "memory",
    by: Annotated[str, typer.Option(help="Split every figure: agent, runtime, tool, surface, mode, day, ...")] = "all",
    base: Annotated[str, typer.Option(help="known: answered or truly empty searches; exposed: answered.")] = "known",
    clean: Annotated[bool, typer.Option("--clean", help="Leave out searches whose consumption is shared.")] = False,
    name: Annotated[list[str] | None, typer.Option(help="Only this measure; may be repeated.")] = None,
    as_of: Annotated[datetime | None, typer.Option(help="Instant to look back from, UTC; now by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Show how searches fared: consumed, readthrough, reformulated, abandoned, cost."""
    at = options.instant(as_of, SystemClock())
    try:
        values = Warehouse(options.data_folder(data)).measures(
            at,
            days,
            agent=agent,
            runtime=runtime,
            tool=tool,
            surface=None if surface == "all" else surface,
            base=base,
            credit="clean" if clean else "all",
            slice_by=by,
            names=name,
        )
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if as_json:
        typer.echo(msgspec.json.encode(values).decode())
    else:
        Console().print(as_table(values, title=f"{days} days before {at:%Y-%m-%d %H:%M} UTC, {surface}"))


def as_table(values: list[MeasureValue], *, title: str) -> Table:
    """Return figures as a table for the terminal; what was not measured says why instead of showing a number."""
    table = Table(title=title)
    sliced = any(value.slice_by != "all" for value in values)
    for column in ("measure", *(("slice",) if sliced else ()), "value", "95 % interval", "n", "unit", "note"):
        table.add_column(column, justify="right" if column in ("value", "95 % interval", "n") else "left")
    for value in values:
        interval = "" if value.low is None else f"{value.low:.3f} to {value.high:.3f}"
        note = value.reason if value.state in (State.NOT_MEASURED, State.STALE) else ""
        shown = "not measured" if value.value is None else f"{value.value:.3f}"
        cells = (value.title, *((value.slice,) if sliced else ()), shown, interval, str(value.n), value.unit, note)
        table.add_row(*cells)
    return table
