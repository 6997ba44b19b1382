"""`trodden diagnose`: why a figure is bad, first cause first, and which alarms of the specification ring."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from deploy.cli import options
from streams.clock import SystemClock
from warehouse import alarms
from warehouse.alarms import Period
from warehouse.store import Warehouse


def command(
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days that a figure is taken over.")] = 7,
    history: Annotated[int, typer.Option(min=1, max=400, help="Days of alarm history.")] = 14,
    baseline: Annotated[float | None, typer.Option(help="ConsumedMRR of the shadow baseline.")] = None,
    surface: Annotated[str, typer.Option(help="memory, code_search, web_search, or all.")] = "memory",
    as_of: Annotated[datetime | None, typer.Option(help="Instant to look back from, UTC; now by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Name what to look at first: empty answers, unclear attribution, or the order of results."""
    at = options.instant(as_of, SystemClock())
    warehouse, where = Warehouse(options.data_folder(data)), None if surface == "all" else surface
    found = warehouse.diagnose(at, days, surface=where)
    periods = alarm_history(warehouse, at, days, history, baseline=baseline, surface=where)
    if as_json:
        typer.echo(msgspec.json.encode({"diagnosis": found, "alarms": periods}).decode())
        return
    console = Console()
    console.print(f"look at: [bold]{found.verdict}[/] ({found.because})")
    for finding in found.findings:
        console.print(f"  {'!' if finding.suspect else ' '} {finding.layer}: {finding.because}")
    console.print(f"alarms of the last {history} days:")
    for period in periods:
        mark = "!" if period.status == "raised" else " "
        console.print(f"  {mark} {period.name}: {period.status} {period.first} to {period.last}: {period.because}")


def alarm_history(
    warehouse: Warehouse, at: datetime, days: int, history: int, *, baseline: float | None, surface: str | None
) -> list[Period]:
    """Return each alarm's stretches over the last `history` days, each day looked at over the `days` before it."""
    names = ("consumed_mrr", "search_abandon_rate", "reformulation_rate")
    by_alarm: dict[str, list[alarms.Alarm]] = {}
    for age in range(history - 1, -1, -1):
        instant = at - timedelta(days=age)
        values = {value.name: value for value in warehouse.measures(instant, days, surface=surface, names=names)}
        for alarm in alarms.look(values, instant.date(), baseline_mrr=baseline):
            by_alarm.setdefault(alarm.name, []).append(alarm)
    return [period for found in by_alarm.values() for period in alarms.history(found)]
