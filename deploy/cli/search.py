"""`trodden search`: ask the search store what agents ask it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from deploy.cli import options
from deploy.ranking import request_fields
from deploy.searching import open_store
from deploy.settings import load
from memory.mcp.format import answer_text
from memory.mcp.tools import search_reply
from memory.model import Depth, Mode, Scope, SearchRequest
from memory.search.filters import InvalidDateError
from streams.errors import ConfigError


def command(  # noqa: PLR0913  # one argument an option
    query: Annotated[str, typer.Argument(help="Words, an id, or a question.")],
    mode: Annotated[Mode, typer.Option(help="How to search.")] = "lexical",
    scope: Annotated[Scope, typer.Option(help="Where to search.")] = "all",
    depth: Annotated[Depth, typer.Option(help="summary: documents; raw: their passages.")] = "summary",
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind; may be repeated.")] = None,
    status: Annotated[list[str] | None, typer.Option(help="Only this status; may be repeated.")] = None,
    date_from: Annotated[str | None, typer.Option(help="Changed on or after this ISO date or instant.")] = None,
    date_to: Annotated[str | None, typer.Option(help="Changed on or before this ISO date or instant.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Results to show.")] = 10,
    rerank: Annotated[
        Literal["off", "shadow", "on"] | None, typer.Option(help="Consumption priors; TRODDEN_RERANK by default.")
    ] = None,
    interleave: Annotated[
        bool | None, typer.Option("--interleave", help="Show a draft of the base and the reranked order.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say of every result why it stands there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Search the indexed documents. Exits 0 with results, 1 without, 2 when the search failed."""
    settings = load(data=data, interleave=interleave)
    ranking = request_fields(settings)
    if rerank is not None:
        ranking |= {"rerank": rerank, "interleave": interleave or False}
    request = SearchRequest(
        query=query,
        mode=mode,
        scope=scope,
        depth=depth,
        kinds=tuple(kind or ()),
        statuses=tuple(status or ()),
        date_from=date_from,
        date_to=date_to,
        limit=limit,
        explain=explain,
        **ranking,
    )
    with open_store(settings) as store:
        try:
            answer = store.search(request)
        except InvalidDateError as error:
            raise ConfigError(str(error)) from None
    if as_json:
        typer.echo(msgspec.json.encode(search_reply(answer).sealed().structured).decode())
    else:
        Console().print(Text(answer_text(answer)), soft_wrap=True)
    raise typer.Exit(2 if answer.failed else 0 if answer.hits else 1)
