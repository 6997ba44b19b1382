"""The role that turns tool events into recall events and trajectories."""

from __future__ import annotations

import asyncio

from correlator.agents import work
from correlator.consumer import WorkerOptions
from deploy.broker import own_connection
from deploy.settings import Settings
from deploy.telemetry import telemetry


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Correlate until `stop` is set; any number of processes share the partitions."""
    options = WorkerOptions(
        connection=own_connection(settings),
        folder=settings.data_dir / "logs" / "faust",
        policy=settings.policy,
    )
    await work(options, stop=stop, telemetry=telemetry)
