"""`trodden topics`: the topics on a broker of yours, beside what they should be."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from deploy.broker import own_connection
from deploy.cli import options
from deploy.running import joined
from deploy.settings import Settings, load
from streams.client import ensure_topics, found_topics
from streams.errors import ConfigError
from streams.topics import differences, specs

command = typer.Typer(help="Topics on the broker of TRODDEN_BROKER.", no_args_is_help=True)


@command.command()
def apply(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the differences; create nothing.")] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Create the topics that are missing and show what differs of the others. Changes none and deletes none.

    Exits 1 while something differs: it is yours to change, because more partitions move keys and a shorter
    retention deletes.
    """
    settings = joined(load(data=data))
    if not settings.broker or settings.broker == "kafka":
        raise ConfigError(
            "TRODDEN_BROKER: expected host:port of a broker that runs; ours get their topics by themselves"
        )
    created, lines = asyncio.run(_apply(settings, dry_run=dry_run))
    console = Console()
    for name in created:
        console.print(f"created {name}", highlight=False)
    for line in lines:
        console.print(line, highlight=False, markup=False)
    if not created and not lines:
        console.print("Every topic is as it should be.")
    raise typer.Exit(1 if lines else 0)


async def _apply(settings: Settings, *, dry_run: bool) -> tuple[list[str], list[str]]:
    connection = own_connection(settings)
    wanted = specs(partitions=settings.partitions)
    created = [] if dry_run else await ensure_topics(connection, partitions=settings.partitions)
    found = await found_topics(connection, [spec.name for spec in wanted])
    return created, differences(wanted, found)
