"""The role that writes published priors into the search store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from deploy.broker import own_connection
from deploy.settings import Settings
from deploy.telemetry import telemetry
from memory import applier
from memory.store import SearchStore
from streams.clock import SystemClock
from streams.consumer import KafkaConsumer
from streams.log import Record
from streams.topics import ANCHOR_PRIORS

GROUP = "trodden-applier"


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Apply until `stop` is set. Every search store has its own applier, so each reads the whole topic."""
    with contextlib.closing(SearchStore.open(settings.memory_dir)) as store:
        connection = own_connection(settings)
        clock = SystemClock()

        def polled(records: Sequence[Record]) -> None:
            telemetry.polled("apply", records, clock.now())

        async with KafkaConsumer(
            connection, [ANCHOR_PRIORS.name], group=GROUP, on_polled=polled, client_id=GROUP
        ) as consumer:
            while not stop.is_set():
                await applier.step(store, consumer, timeout_s=0.2)
