"""The role that lands every topic as Parquet and keeps the catalog."""

from __future__ import annotations

import asyncio

from deploy.broker import own_connection
from deploy.settings import Settings
from streams.consumer import KafkaConsumer
from streams.emitter import KafkaEmitter
from streams.log import Partition
from warehouse.sink import GROUP, SINK_TOPICS, Sink


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Land until `stop` is set; any number of processes share the partitions."""
    connection = own_connection(settings)
    sinks: list[Sink] = []

    def forget(partitions: frozenset[Partition]) -> None:
        for sink in sinks:
            sink.forget(partitions)

    async with (
        KafkaEmitter(connection) as emitter,
        KafkaConsumer(connection, SINK_TOPICS, group=GROUP, on_revoked=forget, client_id="trodden-sink") as consumer,
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
