"""One worker process: imports the role it is asked for and nothing of the others, and stops in order."""

from __future__ import annotations

import asyncio
import importlib
import logging
import signal

from deploy.broker import own_connection
from deploy.settings import Settings
from deploy.telemetry import serving
from streams.client import ensure_topics


async def run(role: str, settings: Settings) -> None:
    """Run `deploy.roles.<role>` until SIGTERM or SIGINT; then it finishes what it holds and returns."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await ensure_topics(own_connection(settings), partitions=settings.partitions)
    with serving(role, settings):
        await importlib.import_module(f"deploy.roles.{role}").main(settings, stop)
