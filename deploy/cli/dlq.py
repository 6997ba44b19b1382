"""`trodden dlq`: what could not be used, and what to do about it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from deploy.cli import options
from deploy.deadletters import DeadLetters, Letter, trials
from deploy.deadletters import replay as replay_letters
from deploy.settings import load
from streams.deadletter import Replay

command = typer.Typer(help="Dead letters: what could not be used, with its bytes and the reason.", no_args_is_help=True)

IDS = typer.Argument(help="Ids, or how they begin; all waiting letters by default.")
JSON = typer.Option("--json", help="Print one JSON document.")
SHOWN = 12
"""Characters of an id that are shown; enough to name one of a few million."""


@command.command("list")
def list_(as_json: Annotated[bool, JSON] = False, data: Annotated[Path | None, options.DATA] = None) -> None:
    """List the dead letters that wait, oldest first."""
    letters = DeadLetters(options.data_folder(data)).waiting()
    if as_json:
        typer.echo(msgspec.json.encode(letters).decode())
        return
    table = Table(box=None, title=f"{len(letters)} dead letters wait")
    for heading in ("id", "stage", "where", "reason"):
        table.add_column(heading, no_wrap=heading in ("id", "stage"))
    for each in letters:
        table.add_row(each.letter_id[:SHOWN], each.letter.stage, where(each), each.letter.reason)
    Console().print(table)


@command.command()
def show(
    ids: Annotated[list[str] | None, IDS] = None,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Show dead letters whole: place, reason and the original bytes."""
    console = Console()
    for each in DeadLetters(options.data_folder(data)).find(ids or []):
        console.print(f"[bold]{each.letter_id}[/]", highlight=False)
        console.print(f"  {each.letter.stage}, {where(each)}\n  {each.letter.reason}", highlight=False, markup=False)
        console.print(each.letter.raw.decode(errors="backslashreplace"), highlight=False, markup=False)


@command.command()
def replay(
    ids: Annotated[list[str] | None, IDS] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be appended; append nothing.")] = False,
    as_json: Annotated[bool, JSON] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Try dead letters again: those that can be read by now go back to their topic under their original event id."""
    settings = load(data=data, flush_seconds=0.3)
    letters = DeadLetters(settings.data_dir)
    tried = trials(letters.find(ids or []))
    if not dry_run:
        letters.settle(asyncio.run(replay_letters(settings, tried)), "replayed")
    told = [
        {
            "letter_id": each.letter.letter_id,
            "event_id": each.result.event_id if isinstance(each.result, Replay) else None,
            "kept_because": None if isinstance(each.result, Replay) else each.result,
        }
        for each in tried
    ]
    if as_json:
        typer.echo(msgspec.json.encode({"dry_run": dry_run, "letters": told}).decode())
        return
    console = Console()
    for line in told:
        outcome = "stays: " + line["kept_because"] if line["kept_because"] else f"event {line['event_id']}"
        console.print(f"{str(line['letter_id'])[:SHOWN]}  {outcome}", highlight=False, markup=False)
    done = sum(line["event_id"] is not None for line in told)
    console.print(f"{done} {'would be' if dry_run else 'were'} tried again, {len(told) - done} stay.")


@command.command()
def drop(
    ids: Annotated[list[str], typer.Argument(help="Ids, or how they begin.")],
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Give dead letters up: they are listed no more. Their bytes stay in the warehouse."""
    letters = DeadLetters(options.data_folder(data))
    found = letters.find(ids)
    letters.settle(found, "dropped")
    Console().print(f"{len(found)} dropped.")


def where(each: Letter) -> str:
    """Return the place of a letter in words."""
    letter = each.letter
    if letter.uri:
        return f"{letter.uri}" + (f" line {letter.line}" if letter.line is not None else "")
    return f"{letter.topic}/{letter.partition} offset {letter.offset}"
