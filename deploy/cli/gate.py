"""`trodden gate`: may the reranked order be shown?"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from deploy.cli import options
from deploy.ranking import judged
from deploy.settings import load
from ranking.gate import GateReport, Verdict
from ranking.store import GateRecord
from ranking.switch import Override
from streams.clock import SystemClock

EXIT_CODES = {Verdict.ON: 0, Verdict.INSUFFICIENT_EVIDENCE: 1, Verdict.FUTILE: 1, Verdict.ROLLBACK: 3}
"""0 may be switched on, 1 not yet, 3 must be switched off."""


def command(
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days of searches to look at.")] = 90,
    override: Annotated[
        str | None, typer.Option(help="Switch on without a passing verdict, for this reason; it is recorded.")
    ] = None,
    as_of: Annotated[datetime | None, typer.Option(help="Instant to look back from, UTC; now by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Judge the ranker of the settings. Exits 0 for ON, 1 for INSUFFICIENT_EVIDENCE or FUTILE, 3 for ROLLBACK."""
    settings = load(data=data)
    at = options.instant(as_of, SystemClock())
    report = judged(settings, at, days=days)
    if override is not None:
        decision = Override(why=override, at=at, ranker_id=report.ranker_id, verdict=report.verdict)
        GateRecord(settings.ranking_dir).remember(decision)
    if as_json:
        typer.echo(msgspec.json.encode(report).decode())
    else:
        _show(report, override, Console())
    raise typer.Exit(EXIT_CODES[report.verdict])


_COLOURS = {Verdict.ON: "green", Verdict.ROLLBACK: "red"}
_MARKS = {"met": "[green]met[/]", "broken": "[red]broken[/]", "unknown": "[yellow]open[/]"}


def _show(report: GateReport, override: str | None, console: Console) -> None:
    console.print(
        f"[bold {_COLOURS.get(report.verdict, 'yellow')}]{report.verdict}[/]  {report.reason}", highlight=False
    )
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("condition", "state", "detail"):
        table.add_column(name)
    for condition in report.conditions:
        table.add_row(condition.name, _MARKS[condition.state], condition.detail)
    console.print(table)
    if report.weeks is not None:
        console.print(f"At your traffic: about {report.weeks:g} weeks until the preference can show.")
    if report.verdict is Verdict.INSUFFICIENT_EVIDENCE and not report.decided:
        console.print("No interleaved search has decided anything yet: set TRODDEN_INTERLEAVE=1 to let agents vote.")
    for alarm in report.alarms:
        console.print(f"[red]alarm[/] {alarm} is past the bound of the tracking contract")
    if override is not None:
        console.print(f"Override recorded for {report.ranker_id}: {override}", highlight=False)
