"""`trodden up`: broker and workers on this machine, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from deploy.settings import Settings, load


def command(
    data: Annotated[Path | None, typer.Option(help="Data folder (default: TRODDEN_DATA).")] = None,
) -> None:
    """Run the pipeline of a data folder: broker, workers, collector. Other commands join it."""
    asyncio.run(_run(load(data=data), Console()))


async def _run(settings: Settings, console: Console) -> None:
    from deploy.running import Running, advertised
    from deploy.stack import SERVING, Stack

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with Stack(settings, roles=SERVING) as stack:
        here = Running(broker=stack.connection.bootstrap, session_seconds=stack.connection.session_timeout_s)
        with advertised(settings.data_dir, here):
            console.print(f"broker   {here.broker}")
            console.print(f"workers  {', '.join(stack.children)}; logs in {settings.data_dir / 'logs'}")
            console.print(f"collect  http://{settings.host}:{settings.collector_port}")
            console.print(f"data     {settings.data_dir}")
            console.print("Ctrl-C stops all of it.")
            await stack.until(stop)
    with contextlib.suppress(OSError):
        console.print("stopped")
