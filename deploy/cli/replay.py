"""`trodden replay`: make the derived tables anew from the raw events."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from deploy.cli import options
from deploy.replay import Conclusions, conclusions_of, indexed, raw_events, rebuild, said
from deploy.running import joined
from deploy.settings import Settings, load
from deploy.stack import SINK, Stack
from streams.clock import SystemClock
from warehouse.store import Warehouse

INSTANT = "Only events from {} this instant, UTC; an invocation that it cuts keeps its higher revision."


def command(
    since: Annotated[datetime | None, typer.Option(help=INSTANT.format("after"))] = None,
    until: Annotated[datetime | None, typer.Option(help=INSTANT.format("before"))] = None,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Correlate the raw events once more by today's rules, and land what they come to.

    The conclusions go over the log, as the stream's do; of equal revisions the newest counts.
    """
    settings = load(data=data, flush_seconds=0.3)
    warehouse, clock = Warehouse(settings.data_dir), SystemClock()
    events = raw_events(
        warehouse,
        since=options.instant(since, clock) if since else None,
        until=options.instant(until, clock) if until else None,
    )
    sent = asyncio.run(_land(settings, conclusions_of(events, settings.policy, indexed(warehouse), said(warehouse))))
    Console().print(f"{sent:,} conclusions landed anew.")


async def _land(settings: Settings, conclusions: Conclusions) -> int:
    here = joined(settings)
    async with Stack(here, roles=(SINK,) if here.broker == "" else ()) as stack:
        sent = await rebuild(stack.emitter, conclusions)
        await stack.drained()
        return sent
