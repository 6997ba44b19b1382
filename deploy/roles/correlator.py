"""The role that turns tool events into recall events and trajectories."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from correlator.agents import WorkerOptions, work
from correlator.partition import Bounds
from deploy.broker import own_connection
from deploy.settings import Settings


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Correlate until `stop` is set; any number of processes share the partitions."""
    options = WorkerOptions(
        connection=own_connection(settings),
        folder=settings.data_dir / "logs" / "faust",
        bounds=Bounds(idle=timedelta(minutes=settings.idle_minutes)),
    )
    await work(options, stop=stop)
