"""`trodden compact`: fewer and larger files, retention, and how much disk the tables take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from deploy import settings
from deploy.cli import options
from streams.clock import SystemClock
from warehouse.job import GRACE, Compacted, Compactor
from warehouse.storage.store import LocalStorage
from warehouse.store import TableSize, Warehouse


def command(
    now: Annotated[bool, typer.Option("--now", help="Remove absorbed files at once, without grace.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    data: Annotated[Path | None, options.DATA] = None,
) -> None:
    """Compact closed days, drop expired ones, and show what the tables take on disk."""
    chosen = settings.load(data=data)
    compactor = Compactor(LocalStorage(chosen.tables_dir), chosen.data_dir)
    grace = GRACE * 0 if now else GRACE
    done = compactor.run(SystemClock().now(), grace=grace, retention=chosen.retention_days)
    sizes = Warehouse(chosen.data_dir).disk_usage()
    if as_json:
        typer.echo(msgspec.json.encode({"done": done, "tables": sizes}).decode())
    else:
        _print(done, sizes)


def _print(done: Compacted, sizes: list[TableSize]) -> None:
    console = Console()
    if done.busy:
        console.print("Another process is compacting; nothing was done.")
    else:
        console.print(
            f"{done.days} days compacted: {done.files_before} files became {done.files_after}; "
            f"{len(done.deleted)} files removed, {done.bytes_freed / 1e6:.1f} MB freed; "
            f"{len(done.expired)} days expired."
        )
    table = Table(box=None, pad_edge=False)
    for name in ("table", "files", "MB", "days"):
        table.add_column(name, justify="left" if name == "table" else "right")
    for size in sizes:
        table.add_row(size.table, f"{size.files:,}", f"{size.bytes / 1e6:.2f}", f"{size.days:,}")
    console.print(table)
