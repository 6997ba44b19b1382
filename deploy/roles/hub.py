"""The role that answers over HTTP: the REST API, on the address and port of the settings."""

from __future__ import annotations

import asyncio

import uvicorn

from deploy.roles.collector import QuietServer
from deploy.settings import Settings
from hub.api import app
from warehouse.store import Warehouse


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Serve until `stop` is set.

    Raises:
        ConfigError: when it would listen to the network without a token.
    """
    api = app.create(Warehouse(settings.data_dir), token=settings.token.get_secret_value(), host=settings.host)
    options = uvicorn.Config(api, host=settings.host, port=settings.port, log_level="warning", lifespan="off")
    server = QuietServer(options)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve())
        await stop.wait()
        server.should_exit = True
