"""`trodden worker`: run one role in this process."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from deploy.settings import load


class RoleName(StrEnum):
    """The roles, by name."""

    CORRELATOR = "correlator"
    SINK = "sink"
    APPLIER = "applier"
    RANKER = "ranker"
    COLLECTOR = "collector"
    HUB = "hub"
    COMPACTOR = "compactor"


def command(
    role: Annotated[RoleName, typer.Argument(help="What this process does.")],
    data: Annotated[Path | None, typer.Option(help="Data folder (default: TRODDEN_DATA).")] = None,
) -> None:
    """Run one role against the broker of TRODDEN_BROKER, until SIGTERM or Ctrl-C."""
    from deploy import worker

    settings = load(data=data)
    asyncio.run(worker.run(role.value, settings))
