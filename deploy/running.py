"""The pipeline that `trodden up` runs on a data folder, so that other commands join it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec

from deploy.settings import Settings

FILE = "running.json"


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """Where a running pipeline listens."""

    broker: str
    """`host:port` of its broker."""
    session_seconds: float


def running(settings: Settings) -> Running | None:
    """Return the pipeline that runs on this data folder; null when none does, or when it died without saying so."""
    try:
        found = msgspec.json.decode((settings.data_dir / FILE).read_bytes(), type=Running)
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return found if _answers(found.broker) else None


def joined(settings: Settings) -> Settings:
    """Return the settings of a client of the running pipeline; unchanged where a broker is set or none runs."""
    if settings.broker or (found := running(settings)) is None:
        return settings
    return settings.model_copy(update={"broker": found.broker, "session_seconds": found.session_seconds})


@contextlib.contextmanager
def advertised(folder: Path, pipeline: Running) -> Iterator[None]:
    """Let others find the pipeline while the context is open."""
    path = folder / FILE
    unfinished = path.with_suffix(".tmp")
    unfinished.write_bytes(msgspec.json.encode(pipeline))
    unfinished.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _answers(address: str) -> bool:
    host, _, port = address.split(",")[0].rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=0.5):
            return True
    except (OSError, ValueError):
        return False
