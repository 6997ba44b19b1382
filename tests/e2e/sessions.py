"""Session files for whole-pipeline tests: the demo's own, written to a folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from deploy.demo import sessions

AS_OF = datetime(2031, 6, 30, 12, tzinfo=UTC)


def write_sessions(folder: Path) -> Path:
    """Write the demo's session files into a folder and return it."""
    sessions.write(folder, AS_OF)
    return folder
