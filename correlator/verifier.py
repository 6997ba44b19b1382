"""The loop that brings outside signals and chat turns to the trajectories of their thread, beside the correlator.

The workers share the partitions of the trajectories, and each reads all signals and messages. Nothing is committed:
whoever gets a partition reads it from its beginning, and emits only what the log does not have yet.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from uuid import uuid4

from correlator.consumer import WorkerOptions, patiently
from correlator.verdicts import Verdicts
from streams.consumer import KafkaConsumer
from streams.log import Consumer, Emitter
from streams.topics import MESSAGES, SIGNALS, TRAJECTORIES

POLL_SECONDS = 0.5


class Verifier:
    """Reads trajectories and what is said of them, and emits the revisions that follow. Knows no Kafka."""

    def __init__(self, emitter: Emitter, trajectories: Consumer, said: Consumer, verdicts: Verdicts) -> None:
        self._emitter = emitter
        self._sources = (said, trajectories)
        self._verdicts = verdicts

    async def step(self) -> int:
        """Take in what has come, emit what follows, and return how many records there were."""
        taken = 0
        for source in self._sources:
            records = await patiently(partial(source.poll, timeout_s=POLL_SECONDS))
            for record in records:
                self._verdicts.take(record)
            taken += len(records)
        if news := self._verdicts.news():
            await patiently(partial(self._emitter.emit_all, TRAJECTORIES.name, list(news.items())))
        return taken

    async def run(self) -> None:
        """Step for ever; ends only by an error or by being cancelled."""
        while True:
            await self.step()


@asynccontextmanager
async def verifier(options: WorkerOptions, emitter: Emitter) -> AsyncIterator[Verifier]:
    """Connect a verifier on Kafka.

    Raises:
        BrokerUnavailable: when no broker answers.
    """
    verdicts = Verdicts()
    shared, own = f"{options.group}-verdicts", f"{options.group}-said-{uuid4().hex}"
    async with (
        KafkaConsumer(
            options.connection, [TRAJECTORIES.name], group=shared, on_revoked=verdicts.forget, client_id=shared
        ) as trajectories,
        KafkaConsumer(options.connection, [SIGNALS.name, MESSAGES.name], group=own, client_id=own) as said,
    ):
        yield Verifier(emitter, trajectories, said, verdicts)
