"""`trodden index`: make a folder of documents searchable, and keep it so."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from deploy.cli import options
from deploy.searching import open_store
from deploy.settings import load
from memory.embed.provider import EmbeddingUnavailable
from memory.integrity.store import CheckReport
from memory.model import IndexReport
from memory.store import SearchStore
from memory.watcher.app import follow


def command(
    folder: Annotated[Path, typer.Argument(help="Folder of Markdown documents.")],
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Read and write everything again.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Stay and index every change until interrupted.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Compare the index with itself and its files first.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Put right what the check finds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Index the documents of a folder; files that did not change are not read again.

    With --check it exits 2 when the index is not sound and was not repaired.
    """
    console = Console()
    with open_store(load(data=data)) as store:
        if check or repair:
            checked = _checked(store, repair=repair)
            if as_json:
                typer.echo(msgspec.json.encode(asdict(checked)).decode())
            else:
                show_check(checked, console)
            raise typer.Exit(0 if checked.ok else 2)
        report = store.index(folder, rebuild=rebuild)
        if as_json:
            typer.echo(msgspec.json.encode(asdict(report)).decode())
        else:
            show(report, console)
        _embed(store, console, quiet=as_json)
        if watch:
            _watch(store, folder, console)


def _checked(store: SearchStore, *, repair: bool) -> CheckReport:
    found = store.check()
    if not repair or found.ok:
        return found
    store.repair(found)
    return store.check()


def _embed(store: SearchStore, console: Console, *, quiet: bool) -> None:
    try:
        done = store.embed()
    except EmbeddingUnavailable as error:
        console.print(f"[yellow]![/] not embedded: {error}. Search stays lexical.", highlight=False, soft_wrap=True)
        return
    if done and not quiet:
        console.print(f"{done:,} texts embedded.", highlight=False)


def _watch(store: SearchStore, folder: Path, console: Console) -> None:
    stop = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stop.set())
    console.print(f"Watching {folder}; Ctrl-C ends.", highlight=False)

    def changed(report: IndexReport) -> None:
        show(report, console)
        _embed(store, console, quiet=False)

    follow(store, folder, stop, changed)


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


def show_check(report: CheckReport, console: Console) -> None:
    """Print what a check found."""
    console.print("[green]The index is sound.[/]" if report.ok else "[red]The index is not sound.[/]", highlight=False)
    for finding in report.findings:
        console.print(f"  {finding.code} {finding.anchor} {finding.detail}", highlight=False, soft_wrap=True)
