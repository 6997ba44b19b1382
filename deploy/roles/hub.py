"""The role that answers over HTTP: the REST API of figures and search, on the address and port of the settings."""

from __future__ import annotations

import asyncio

import uvicorn

from deploy.ranking import request_fields
from deploy.roles.collector import QuietServer
from deploy.searching import default_mode, open_store
from deploy.settings import Settings
from hub.api import app
from memory.mcp.tools import Toolbox
from warehouse.store import Warehouse


async def main(settings: Settings, stop: asyncio.Event) -> None:
    """Serve until `stop` is set.

    Raises:
        ConfigError: when it would listen to the network without a token.
    """
    with open_store(settings) as store:
        tools = Toolbox(store=store, ranking=lambda: request_fields(settings), default_mode=default_mode(settings))
        token = settings.token.get_secret_value()
        api = app.create(Warehouse(settings.data_dir), token=token, host=settings.host, tools=tools)
        options = uvicorn.Config(api, host=settings.host, port=settings.port, log_level="warning", lifespan="off")
        server = QuietServer(options)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.serve())
            await stop.wait()
            server.should_exit = True
