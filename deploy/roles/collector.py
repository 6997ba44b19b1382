"""The role that takes in hooks, traces and events over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections.abc import Iterator

import uvicorn

from deploy.broker import own_connection
from deploy.settings import Settings
from producers.client import Publisher
from producers.collector import build, drain
from producers.store import Spool
from streams.clock import SystemClock
from streams.emitter import KafkaEmitter
from streams.errors import ConfigError


class QuietServer(uvicorn.Server):
    """A server that leaves the signals to the worker that runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Take in until `stop` is set; what still waits then stays in the spool.

    Raises:
        ConfigError: when it would listen to the network without a token.
    """
    token = settings.token.get_secret_value()
    if not token and not is_loopback(settings.host):
        raise ConfigError(f"TRODDEN_TOKEN: expected a token to listen on {settings.host}, got none")
    wake = asyncio.Event()
    with contextlib.closing(Spool(settings.data_dir / "spool" / "collector.sqlite")) as spool:
        app = build(spool, SystemClock(), token=token, wake=wake)
        options = uvicorn.Config(
            app, host=settings.host, port=settings.collector_port, log_level="warning", lifespan="off"
        )
        server = QuietServer(options)
        async with KafkaEmitter(own_connection(settings)) as emitter, asyncio.TaskGroup() as tasks:
            tasks.create_task(drain(spool, Publisher(emitter), stop=stop, wake=wake))
            tasks.create_task(server.serve())
            await stop.wait()
            server.should_exit = True


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
