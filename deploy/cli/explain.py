"""`trodden explain`: how a search was judged, call by call, and by which rule."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from correlator.explain import as_text, explain
from deploy.cli import options
from deploy.replay import indexed
from deploy.settings import load
from streams.errors import ConfigError
from streams.events import InvocationEnded, InvocationStarted, ToolCalled
from warehouse.store import Warehouse

AROUND = timedelta(days=2)
"""How long before and after a search its invocation's events are looked for."""

_FIND = "SELECT invocation_id, occurred_at FROM recall_events WHERE recall_id = $recall_id LIMIT 1"


def command(
    recall_id: Annotated[str, typer.Argument(help="Id of the search, as the feed and the API show it.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Show a search, what it offered, and what each later call was to it: distance, time, verdict and rule."""
    settings = load(data=data)
    warehouse = Warehouse(settings.data_dir)
    found = warehouse.sql(_FIND, {"recall_id": recall_id})
    if not found:
        raise ConfigError(f"expected the id of a recorded search, got {recall_id!r}")
    at = found[0]["occurred_at"]
    events = (
        event
        for event in warehouse.tool_events(since=at - AROUND, until=at + AROUND)
        if isinstance(event, ToolCalled | InvocationStarted | InvocationEnded)
        and event.invocation_id == found[0]["invocation_id"]
    )
    explanation = explain(recall_id, events, policy=settings.policy, documents=indexed(warehouse))
    if explanation is None:
        raise ConfigError(f"expected the tool events of search {recall_id!r} in the warehouse, they are not kept there")
    typer.echo(msgspec.json.encode(explanation).decode() if as_json else as_text(explanation))
