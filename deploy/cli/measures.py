"""`trodden measures`: the figures of a time window, each with n, interval and state."""

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


def as_table(values: Sequence[MeasureValue], *, title: str) -> Table:
    """Return figures as a table for the terminal, one line a measure; those not measured stand in the caption."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, caption_justify="left")
    sliced = any(value.slice_by != "all" for value in values)
    for name in ("measure", *(("slice",) if sliced else ()), "value", "95 % interval", "n"):
        table.add_column(name, justify="left" if name in ("measure", "slice") else "right", no_wrap=True)
    for value in values:
        if value.state is not State.NOT_MEASURED:
            cells = (_shown(value.value, value.unit), _interval(value), f"{value.n:,}")
            table.add_row(value.title, *((value.slice,) if sliced else ()), *cells)
    table.caption = "\n".join(_notes(values)) or None
    return table


def _shown(number: float | None, unit: str) -> str:
    if number is None:
        return ""
    match unit:
        case "share":
            return f"{number:.1%}"
        case "reciprocal rank":
            return f"{number:.3f}"
        case _:
            return f"{number:,.1f} {unit}"


def _interval(value: MeasureValue) -> str:
    low, high = (_shown(bound, value.unit).removesuffix(f" {value.unit}") for bound in (value.low, value.high))
    return f"{low} .. {high}" if low and high else ""


def _notes(values: Sequence[MeasureValue]) -> list[str]:
    """Return one line a reason for the figures that are not measured, and one for those that are stale."""
    names: dict[str, list[str]] = {}
    for value in values:
        if value.state is State.NOT_MEASURED:
            names.setdefault(value.reason, []).append(value.title)
    stale = sorted({value.reason for value in values if value.state is State.STALE})
    return [f"not measured ({reason}): {', '.join(titles)}" for reason, titles in names.items()] + [
        f"stale: {reason}" for reason in stale
    ]
