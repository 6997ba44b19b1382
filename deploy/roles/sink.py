"""The role that lands every topic as Parquet and keeps the catalog."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from deploy.broker import own_connection
from deploy.settings import Settings
from deploy.telemetry import telemetry
from streams.clock import SystemClock
from streams.consumer import KafkaConsumer
from streams.emitter import KafkaEmitter
from streams.log import Partition, Record
from streams.metrics import LANDED_FILES, LANDED_ROWS
from warehouse.sink import GROUP, SINK_TOPICS, Sink


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Land until `stop` is set; any number of processes share the partitions."""
    connection = own_connection(settings)
    sinks: list[Sink] = []
    clock = SystemClock()
    counted: dict[str, tuple[int, int]] = {}

    def forget(partitions: frozenset[Partition]) -> None:
        for sink in sinks:
            sink.forget(partitions)

    def polled(records: Sequence[Record]) -> None:
        telemetry.polled("land", records, clock.now())
        for sink in sinks:
            landed, told = (sink.landed.rows, sink.landed.files), counted.get("landed", (0, 0))
            counted["landed"] = landed
            telemetry.metrics.count(LANDED_ROWS, landed[0] - told[0])
            telemetry.metrics.count(LANDED_FILES, landed[1] - told[1])

    async with (
        KafkaEmitter(connection) as emitter,
        KafkaConsumer(
            connection, SINK_TOPICS, group=GROUP, on_revoked=forget, on_polled=polled, client_id="trodden-sink"
        ) as consumer,
    ):
        sinks.append(
            Sink(
                consumer,
                settings.data_dir,
                emitter=emitter,
                flush_rows=settings.flush_rows,
                flush_s=settings.flush_seconds,
                idle_s=settings.flush_idle_seconds,
            )
        )
        await sinks[0].run(stop)
