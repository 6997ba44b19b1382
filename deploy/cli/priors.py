"""`trodden priors`: what consumption says of documents, computed and published."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from deploy.cli import options
from deploy.ranking import weights
from deploy.settings import Settings, load
from ranking.job import compute_priors
from ranking.publisher import PublishedAnchors, publish_run
from ranking.rerank import prior_effect
from streams.clock import SystemClock
from streams.errors import ConfigError
from streams.recall import AnchorPrior
from warehouse.store import Warehouse

command = typer.Typer(help="What consumption says of documents.", no_args_is_help=True)

AS_OF = typer.Option(help="Instant to look back from, UTC; now by default.")
JSON = typer.Option("--json", help="Print one JSON document.")


@command.command()
def publish(
    as_of: Annotated[datetime | None, AS_OF] = None,
    as_json: Annotated[bool, JSON] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Compute the priors as of an instant and publish them to every search store; withdraw those that are gone."""
    settings = load(data=data)
    at = options.instant(as_of, SystemClock())
    newest = PublishedAnchors(settings.ranking_dir / "published.json").read().as_of
    if newest is not None and at < newest:
        raise ConfigError(f"--as-of: expected {newest.isoformat()} or later, which is published, got {at.isoformat()}")
    priors = compute_priors(Warehouse(settings.data_dir), at)
    sent = asyncio.run(_publish(settings, priors, at))
    if as_json:
        typer.echo(msgspec.json.encode({"as_of": at, "priors": len(priors), "withdrawn": sent - len(priors)}).decode())
    else:
        Console().print(
            f"{len(priors)} priors as of {at:%Y-%m-%d %H:%M} UTC published, {sent - len(priors)} withdrawn."
        )


@command.command()
def show(
    anchor: Annotated[list[str] | None, typer.Argument(help="Only these anchors.")] = None,
    as_of: Annotated[datetime | None, AS_OF] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows to show, the strongest first.")] = 20,
    as_json: Annotated[bool, JSON] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Compute the priors as of an instant and show them; publishes nothing."""
    settings = load(data=data)
    at = options.instant(as_of, SystemClock())
    priors = compute_priors(Warehouse(settings.data_dir), at)
    wanted = [prior for prior in priors if not anchor or prior.anchor in anchor]
    wanted.sort(key=lambda prior: (-abs(prior_effect(prior, weights(settings))[0]), prior.anchor))
    if as_json:
        typer.echo(msgspec.json.encode(wanted[:limit]).decode())
    else:
        Console().print(_table(wanted[:limit], settings))


async def _publish(settings: Settings, priors: Sequence[AnchorPrior], at: datetime) -> int:
    """Publish through the running pipeline, or one of its own that lives until the search store has them."""
    from deploy.running import joined, running
    from deploy.stack import APPLIER, SINK, Stack

    own = running(settings) is None
    async with Stack(joined(settings), roles=(SINK, APPLIER) if own else ()) as stack:
        published = PublishedAnchors(settings.ranking_dir / "published.json")
        sent = await publish_run(stack.emitter, priors, published, as_of=at)
        if own:
            await stack.drained()
        return sent


def _table(priors: Sequence[AnchorPrior], settings: Settings) -> Table:
    table = Table(box=None, caption="effect: share of a result's relevance; expected: at the ranks it was shown")
    for name in ("anchor", "kind", "shown", "opened", "expected", "90 % interval", "effect", "rule"):
        table.add_column(name, justify="left" if name in ("anchor", "kind", "rule") else "right")
    for prior in priors:
        effect, rule = prior_effect(prior, weights(settings), constitutional=prior.spec.branch == "constitutional")
        calibrated = prior.calibrated
        table.add_row(
            prior.anchor,
            prior.doc_kind,
            str(prior.exposures),
            f"{prior.consumptions:g}",
            f"{calibrated.expected:.1f}" if calibrated else "",
            f"{calibrated.low:.2f} to {calibrated.high:.2f}" if calibrated else "",
            f"{effect:+.1%}",
            rule,
        )
    return table
