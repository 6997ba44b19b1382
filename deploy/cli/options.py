"""Options that several commands share, and what they mean."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import typer

from deploy import settings
from streams.clock import Clock

DATA = typer.Option("--data", help="Data folder; TRODDEN_DATA or ~/.trodden by default.")


def data_folder(data: Path | None) -> Path:
    """Return the data folder that was asked for, or the one of the settings."""
    return settings.load(data=data).data_dir


def instant(given: datetime | None, clock: Clock) -> datetime:
    """Return an instant given on the command line, read as UTC where it names no zone; the present when none was."""
    if given is None:
        return clock.now()
    return given if given.tzinfo is not None else given.replace(tzinfo=UTC)
