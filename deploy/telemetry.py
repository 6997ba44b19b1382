"""What this process measures of itself, and where it tells it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from deploy.settings import Settings
from streams.server import MetricsServer, Telemetry

ROLES = ("correlator", "sink", "applier", "collector", "ranker", "hub")
"""In the order of their ports: the first one is at `metrics_port`. A role that is not named here serves none."""

OWN_LOOP = frozenset({"correlator", "sink", "applier"})
"""Roles that tell their progress themselves; of the others only the event loop is watched."""

telemetry = Telemetry()
"""Of this process."""


@contextlib.contextmanager
def serving(role: str, settings: Settings) -> Iterator[None]:
    """Serve `/metrics` and `/healthz` of a role while the context is open, where the settings give a port."""
    if not settings.metrics_port or role not in ROLES:
        yield
        return
    port = settings.metrics_port + ROLES.index(role)
    beating = None if role in OWN_LOOP else asyncio.get_running_loop().create_task(_beat())
    try:
        with MetricsServer(telemetry.metrics, telemetry.health, port=port):
            yield
    finally:
        if beating is not None:
            beating.cancel()


async def _beat() -> None:
    while True:
        telemetry.health.progressed()
        await asyncio.sleep(1.0)
