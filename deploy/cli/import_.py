"""`trodden import`: session files of agent runtimes into the warehouse."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from deploy.cli.show import Watching
from deploy.settings import load
from producers.report import FileReport, ImportReport
from streams.errors import ConfigError


def command(
    paths: Annotated[list[Path] | None, typer.Argument(help="Session files, or folders that hold some.")] = None,
    claude: Annotated[bool, typer.Option("--claude", help="Read Claude Code's own folder of transcripts.")] = False,
    data: Annotated[Path | None, typer.Option(help="Data folder (default: TRODDEN_DATA).")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Publish everything once more, for a log that has lost it.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Publish what is new in session files, correlate it, and land it.

    Exits 0 when anything was processed, 2 when nothing was. A second import of the same files adds nothing.
    """
    from deploy.importing import import_sessions

    settings = load(data=data, flush_seconds=0.3)
    wanted = list(paths or [])
    if claude:
        wanted.append(settings.claude_config_dir.expanduser() / "projects")
    if not wanted:
        raise ConfigError("expected session files or folders, or --claude; got neither")
    with Watching(quiet=as_json) as watching:
        report = asyncio.run(import_sessions(settings, wanted, watch=watching.stage, again=again))
    if as_json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    else:
        show(report, Console())
    raise typer.Exit(report.exit_code)


def show(report: ImportReport, console: Console) -> None:
    """Print what an import came to: a row a file, what was left out and why, and the totals."""
    table = Table(title="Imported sessions", title_justify="left", box=None, padding=(0, 1, 0, 0))
    for heading in (
        "file",
        "calls",
        "results",
        "errors",
        "searches",
        "reads on hits",
        "edits on hits",
        "output tokens",
        "new events",
    ):
        table.add_column(heading, justify="left" if heading == "file" else "right")
    for file in report.files:
        table.add_row(*_row(file))
    if report.files:
        console.print(table)
    for file in report.files:
        for reason, count in file.skipped.items():
            console.print(f"  {Path(file.path).name}: {count} skipped: {reason}", highlight=False)
        for problem in file.problems:
            console.print(f"  [yellow]{Path(file.path).name}[/] {problem}", highlight=False)
    for path, reason in report.unread.items():
        console.print(f"  [red]not read[/] {path}: {reason}", highlight=False)
    console.print(
        f"{len(report.files)} files, {sum(f.calls for f in report.files):,} calls read, "
        f"[bold]{report.published:,} new events[/], {report.republished:,} sent again, "
        f"{report.dead_lettered} dead letters, {sum(sum(f.skipped.values()) for f in report.files)} records skipped",
        highlight=False,
    )


def _row(file: FileReport) -> tuple[str, ...]:
    return (
        Path(file.path).name,
        f"{file.calls:,}",
        f"{file.results:,}",
        f"{file.errors:,}",
        f"{file.searches:,}",
        f"{file.reads_on_hits:,}/{file.reads:,}",
        f"{file.edits_on_hits:,}/{file.edits:,}",
        "-" if file.tokens_output is None else f"{file.tokens_output:,}",
        f"{file.published:,}",
    )
