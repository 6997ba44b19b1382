"""`trodden eval ranker` and `loop`: what other rankers would have earned, and whether the loop feeds on itself."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from deploy.cli import options
from deploy.settings import load
from ranking.evidence import loop_monitors
from ranking.job import compute_priors, read_facts, read_searches
from ranking.whatif import Comparison, compare
from streams.clock import SystemClock
from streams.errors import ConfigError
from warehouse.store import Warehouse

JSON = typer.Option("--json", help="Print one JSON document.")
AS_OF = typer.Option(help="Instant to look back from, UTC; now by default.")


def ranker(
    config: Annotated[
        list[str],
        typer.Argument(help='base, spec, calibrated, or weights as JSON: \'{"beta": 2, "mmr_lambda": 0.6}\'.'),
    ],
    since: Annotated[
        datetime | None,
        typer.Option(help="First search to replay, UTC; priors are as of then. 14 days ago by default."),
    ] = None,
    as_of: Annotated[datetime | None, AS_OF] = None,
    as_json: Annotated[bool, JSON] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Replay logged searches under other weights. Exits 0 when every estimate may be trusted, 1 when one is refused."""
    clock = SystemClock()
    until = options.instant(as_of, clock)
    start = options.instant(since, clock) if since is not None else until - timedelta(days=14)
    warehouse = Warehouse(load(data=data).data_dir)
    try:
        found = compare(
            read_searches(warehouse, start, until),
            {prior.anchor: prior for prior in compute_priors(warehouse, start)},
            read_facts(warehouse, until),
            config,
        )
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        _show(found, Console())
    raise typer.Exit(1 if any(trial.estimate.refused for trial in found.trials) else 0)


def loop(
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days to look at.")] = 30,
    as_of: Annotated[datetime | None, AS_OF] = None,
    as_json: Annotated[bool, JSON] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Show whether attention concentrates: Gini, top-10 share, what is never shown, ranks that never move."""
    until = options.instant(as_of, SystemClock())
    warehouse = Warehouse(load(data=data).data_dir)
    found = loop_monitors(
        read_searches(warehouse, until - timedelta(days=days), until),
        compute_priors(warehouse, until),
        read_facts(warehouse, until),
    )
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    table = Table(box=None)
    table.add_column("monitor")
    table.add_column("value", justify="right")
    for name, value in msgspec.structs.asdict(found).items():
        shown = "not measured" if value is None else f"{value:.3f}" if isinstance(value, float) else f"{value:,}"
        table.add_row(name.replace("_", " "), shown)
    Console().print(table)


def _show(found: Comparison, console: Console) -> None:
    table = Table(box=None, title=f"{found.searches:,} searches replayed")
    for name in ("config", "ranker", "IPS", "95 % interval", "SNIPS", "ESS", "coverage", "plain MRR", "changed"):
        table.add_column(name, justify="left" if name in ("config", "ranker") else "right")
    for trial in found.trials:
        estimate = trial.estimate
        interval = estimate.ips_interval
        table.add_row(
            trial.config,
            trial.ranker_id,
            _number(estimate.ips),
            "" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}",
            _number(estimate.snips),
            f"{estimate.ess:.0f}",
            "" if estimate.coverage is None else f"{estimate.coverage:.0%}",
            _number(trial.replayed_mrr),
            f"{trial.changed:,}",
        )
    console.print(table)
    fit = found.propensities
    if fit.pairs:
        curve = ", ".join(f"{rank}: {theta:.2f}" for rank, theta in fit.theta.items())
        console.print(f"Examination by rank, from {fit.pairs} pairs shown on several ranks: {curve}")
        end = "converged" if fit.converged else "not converged"
        rounds = f"{end} in {fit.rounds} rounds, moved by at most {fit.monotone_change:.2f} to be monotone"
        console.print(f"The fit: {fit.consumptions:g} consumptions, {rounds}.")
    else:
        console.print(
            "No interleaved search yet: every rank counts as examined, as for an agent that reads all of them."
        )
    for reason in dict.fromkeys(reason for trial in found.trials for reason in trial.estimate.refused):
        console.print(f"[yellow]refused[/] {reason}", highlight=False)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
