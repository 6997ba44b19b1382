"""The role that computes priors now and then, and publishes them."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from deploy.broker import own_connection
from deploy.settings import Settings
from ranking.job import compute_priors
from ranking.publisher import PublishedAnchors, publish_run
from streams.clock import SystemClock
from streams.emitter import KafkaEmitter
from warehouse.store import Warehouse

_log = logging.getLogger(__name__)


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Publish at once and then every `priors_minutes` of the settings, until `stop` is set. Run one of it."""
    warehouse, clock = Warehouse(settings.data_dir), SystemClock()
    published = PublishedAnchors(settings.ranking_dir / "published.json")
    async with KafkaEmitter(own_connection(settings), client_id="trodden-ranker") as emitter:
        while not stop.is_set():
            priors = await asyncio.to_thread(compute_priors, warehouse, clock.now())
            sent = await publish_run(emitter, priors, published)
            _log.info("published %d priors, withdrew %d", len(priors), sent - len(priors))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), settings.priors_minutes * 60)
