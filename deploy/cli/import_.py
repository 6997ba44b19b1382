"""`trodden import`: session files of agent runtimes into the warehouse."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
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

    settings = load(data=data, flush_rows=50_000, flush_seconds=20.0, flush_idle_seconds=0.5)
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


MAX_ROWS = 40
"""Session files that the table shows; `--json` has them all."""

HEADINGS = ("session file", "calls", "results", "errors", "searches", "reads", "edits", "tokens", "new")


def show(report: ImportReport, console: Console) -> None:
    """Print what an import came to: a row a file, what is wrong with which line, what was left out, the totals."""
    if report.files:
        console.print(_table(report.files))
    for file in report.files:
        for problem in file.problems:
            console.print(f"  [yellow]{Path(file.path).name}[/] {problem}", highlight=False)
    for path, reason in report.unread.items():
        console.print(f"  [red]not read[/] {path}: {reason}", highlight=False, soft_wrap=True)
    skipped = sum((Counter(file.skipped) for file in report.files), Counter[str]())
    if skipped:
        told = ", ".join(f"{count} {reason.removeprefix('bookkeeping: ')}" for reason, count in skipped.most_common())
        console.print(f"Records that tell of no call: {told}.", highlight=False, style="dim")
    console.print(
        f"{len(report.files)} files, {sum(f.calls for f in report.files):,} calls read: "
        f"[bold]{report.published:,} new events[/], {report.republished:,} sent again, "
        f"{report.dead_lettered} dead letters.",
        highlight=False,
    )


def _table(files: Sequence[FileReport]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), caption="reads, edits: on earlier hits / all", caption_justify="left")
    for heading in HEADINGS:
        name = heading == HEADINGS[0]
        table.add_column(heading, justify="left" if name else "right", no_wrap=True, max_width=26 if name else None)
    for file in files[:MAX_ROWS]:
        table.add_row(*_row(file))
    if len(files) > MAX_ROWS:
        table.add_row(f"and {len(files) - MAX_ROWS:,} more")
    return table


def _row(file: FileReport) -> tuple[str, ...]:
    return (
        Path(file.path).stem,
        f"{file.calls:,}",
        f"{file.results:,}",
        f"{file.errors:,}",
        f"{file.searches:,}",
        f"{file.reads_on_hits:,}/{file.reads:,}",
        f"{file.edits_on_hits:,}/{file.edits:,}",
        "-" if file.tokens_output is None else f"{file.tokens_output:,}",
        f"{file.published:,}",
    )
