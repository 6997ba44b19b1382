"""`trodden index`: make a folder of documents searchable, and keep it so."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from deploy.cli import options
from deploy.settings import load
from memory.model import IndexReport
from memory.store import SearchStore


def command(
    folder: Annotated[Path, typer.Argument(help="Folder of Markdown documents.")],
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Read and write everything again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Index the documents of a folder; files that did not change are not read again."""
    with SearchStore.open(load(data=data).memory_dir) as store:
        report = store.index(folder, rebuild=rebuild)
    if as_json:
        typer.echo(msgspec.json.encode(asdict(report)).decode())
    else:
        show(report, Console())


def show(report: IndexReport, console: Console) -> None:
    """Print what an index run did, what it could not read, and what was left out."""
    if report.recovered is not None:
        console.print(f"[yellow]{report.recovered}[/]", highlight=False, soft_wrap=True)
    console.print(
        f"[bold]{report.documents:,}[/] documents, {report.passages:,} passages: {len(report.added)} added, "
        f"{len(report.changed)} changed, {len(report.removed)} removed, {report.unchanged} unchanged "
        f"({report.elapsed_ms:.0f} ms).",
        highlight=False,
    )
    for line in (*report.problems, *report.collisions):
        console.print(f"  [yellow]![/] {line}", highlight=False, soft_wrap=True)
    for anchor, causes in sorted(report.causes.items()):
        console.print(f"  [yellow]?[/] {anchor} needs review: {', '.join(causes)} changed", highlight=False)
    for file in report.files:
        if file.outcome == "failed":
            console.print(f"  [red]failed[/] {file.path}: {file.reason}", highlight=False, soft_wrap=True)
    skipped = Counter(file.reason for file in report.files if file.outcome == "skipped")
    if skipped:
        told = ", ".join(f"{count} {reason}" for reason, count in skipped.most_common())
        console.print(f"  skipped: {told}", highlight=False, style="dim", soft_wrap=True)
