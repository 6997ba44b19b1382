"""The role that computes priors now and then, publishes them, and watches what they do."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from deploy.broker import own_connection
from deploy.ranking import judged
from deploy.settings import Settings
from deploy.telemetry import telemetry
from ranking.evidence import loop_monitors
from ranking.job import compute_priors, read_facts, read_searches
from ranking.publisher import PublishedAnchors, publish_run
from streams.clock import SystemClock
from streams.emitter import KafkaEmitter
from streams.metrics import FRICTION, GATE, LOOP, PRIORS, PRIORS_AS_OF, Metrics
from streams.recall import AnchorPrior
from warehouse.store import Warehouse

_log = logging.getLogger(__name__)

WATCHED = timedelta(days=30)
"""Window of the loop's monitors."""


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Publish at once and then every `priors_minutes` of the settings, until `stop` is set. Run one of it."""
    warehouse, clock, metrics = Warehouse(settings.data_dir), SystemClock(), telemetry.metrics
    published = PublishedAnchors(settings.ranking_dir / "published.json")
    async with KafkaEmitter(own_connection(settings), client_id="trodden-ranker") as emitter:
        while not stop.is_set():
            at = clock.now()
            priors = await asyncio.to_thread(compute_priors, warehouse, at)
            sent = await publish_run(emitter, priors, published, as_of=at)
            metrics.set(PRIORS, len(priors))
            metrics.set(PRIORS_AS_OF, at.timestamp())
            _log.info("published %d priors, withdrew %d", len(priors), sent - len(priors))
            await asyncio.to_thread(watch, settings, priors, at, metrics)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), settings.priors_minutes * 60)


def watch(settings: Settings, priors: Sequence[AnchorPrior], at: datetime, metrics: Metrics) -> None:
    """Measure whether the loop feeds on itself, and judge a ranker that is at work: a `ROLLBACK` puts it in shadow."""
    warehouse = Warehouse(settings.data_dir)
    searches = read_searches(warehouse, at - WATCHED, at)
    monitors = msgspec.structs.asdict(loop_monitors(searches, priors, read_facts(warehouse, at)))
    for metric in (LOOP, GATE, FRICTION):
        metrics.forget(metric)
    for name, value in monitors.items():
        if isinstance(value, float):
            metrics.set(LOOP, value, monitor=name)
    if settings.rerank == "off" and not settings.interleave:
        return
    report = judged(settings, at)
    metrics.set(GATE, 1, verdict=report.verdict.value)
    for measure in report.alarms:
        metrics.set(FRICTION, 1, measure=measure)
    _log.info("gate: %s, %s", report.verdict.value, report.reason)
