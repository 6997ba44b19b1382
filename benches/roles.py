"""Worker processes on an Apache Kafka of the bench's own, as a supervisor would run them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from deploy.child import Child, spawn
from deploy.stack import CORRELATOR_GROUP, SINK_GROUP
from streams.client import Connection, lag
from streams.errors import BrokerUnavailable
from streams.topics import RECALL_EVENTS, TOOL_EVENTS, TRAJECTORIES


class Roles:
    """Children by name (`sink-2` is a second sink); whoever dies is started again while `supervise` runs."""

    def __init__(self, connection: Connection, folder: Path, *, env: Mapping[str, str] | None = None) -> None:
        self.children: dict[str, Child] = {}
        self.restarts = 0
        self._connection = connection
        self._folder = folder
        self._env = {
            "TRODDEN_DATA": str(folder),
            "TRODDEN_BROKER": connection.bootstrap,
            "TRODDEN_SESSION_SECONDS": str(connection.session_timeout_s),
            **(env or {}),
        }

    def start(self, name: str) -> None:
        """Start one."""
        argv = [sys.executable, "-m", "deploy.cli.main", "worker", name.partition("-")[0]]
        self.children[name] = spawn(name, argv, log=self._folder / "logs" / f"{name}.log", env=self._env)

    async def supervise(self) -> None:
        """Start again whoever died, until cancelled."""
        while True:
            for name, child in list(self.children.items()):
                if not child.alive:
                    self.restarts += 1
                    self.start(name)
            await asyncio.sleep(0.2)

    def stop(self, names: Iterable[str] = ()) -> None:
        """Stop these, or all."""
        for name in list(names) or list(self.children):
            self.children.pop(name).stop()

    async def backlog(self) -> int:
        """Return the records that the correlators and the sinks have yet to work off."""
        behind = await lag(self._connection, CORRELATOR_GROUP, [TOOL_EVENTS.name])
        behind |= await lag(self._connection, SINK_GROUP, [RECALL_EVENTS.name, TRAJECTORIES.name])
        return sum(behind.values())

    async def drained(self, patience_s: float = 120.0) -> None:
        """Return once both groups have committed everything, twice in a row.

        Raises:
            BrokerUnavailable: when the backlog has been the same for `patience_s`: a slow machine is waited for.
        """
        seen: int | None = None
        calm, moved_at = 0, time.monotonic()
        while calm < 2:
            behind = None
            with contextlib.suppress(BrokerUnavailable):
                behind = await self.backlog()
            calm = calm + 1 if behind == 0 else 0
            if behind is not None and behind != seen:
                seen, moved_at = behind, time.monotonic()
            if time.monotonic() - moved_at > patience_s:
                raise BrokerUnavailable(f"expected the backlog to change, got {seen} messages for {patience_s:.0f} s")
            await asyncio.sleep(0.5)


def quiet() -> None:
    """Keep the client's complaints about killed brokers and unborn topics off the terminal."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
