"""`trodden verify`: are the derived tables what their raw events come to?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from deploy.replay import compare, conclusions_of, indexed, raw_events, said
from deploy.settings import load
from warehouse.store import Warehouse


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    data: Annotated[Path | None, typer.Option(help="Data folder (default: TRODDEN_DATA).")] = None,
) -> None:
    """Replay the raw events and compare row by row with the tables that the stream made.

    Exits 0 when they are equal, 1 when not; names the first difference. Invocations that are still open differ
    until they close, and so may reads outside the pool whose document was indexed later.
    """
    settings = load(data=data)
    warehouse = Warehouse(settings.data_dir)
    comparisons = compare(
        warehouse, conclusions_of(raw_events(warehouse), settings.policy, indexed(warehouse), said(warehouse))
    )
    if as_json:
        typer.echo(msgspec.json.encode(comparisons, enc_hook=str).decode())
    else:
        console = Console()
        for each in comparisons:
            verdict = "[green]equal[/]" if each.equal else "[red]different[/]"
            console.print(
                f"{each.table}: {verdict}, {each.rows:,} rows, {each.lost} lost, {each.extra} extra, "
                f"{each.differing} differing",
                highlight=False,
            )
            if each.first is not None:
                first = each.first
                console.print(f"  first: {first.identity} {first.column or 'row'}", highlight=False)
                console.print(f"    landed:   {first.landed!r}\n    replayed: {first.replayed!r}", markup=False)
    raise typer.Exit(0 if all(each.equal for each in comparisons) else 1)
