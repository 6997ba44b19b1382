"""The role that compacts closed days and drops expired ones, by the clock."""

from __future__ import annotations

import asyncio
import contextlib

from deploy.settings import Settings
from streams.clock import SystemClock
from warehouse.job import Compactor
from warehouse.storage.store import LocalStorage


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Compact every `compact_minutes` until `stop` is set. Several processes take turns by a lock."""
    compactor = Compactor(LocalStorage(settings.tables_dir), settings.data_dir)
    clock = SystemClock()
    while not stop.is_set():
        await asyncio.to_thread(compactor.run, clock.now(), retention=settings.retention_days)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), settings.compact_minutes * 60)
