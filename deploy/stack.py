"""Broker and roles of one data folder, running as child processes: started together, watched, stopped in order."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from deploy.broker import broker_for
from deploy.child import Child, spawn
from deploy.settings import Settings
from streams.client import Connection, ensure_topics, lag
from streams.emitter import KafkaEmitter
from streams.errors import StorageUnavailable, TerminalError
from streams.topics import ANCHOR_PRIORS, RECALL_EVENTS, TOOL_EVENTS, TOPICS, TRAJECTORIES
from warehouse import publisher
from warehouse.storage.store import LocalStorage

CORRELATOR_GROUP = "trodden-correlator"
SINK_GROUP = "trodden-sink"
APPLIER_GROUP = "trodden-applier"

EARLY_SECONDS = 5.0
"""A role that ends sooner than this after its start died early."""

MAX_EARLY_DEATHS = 5
"""A role that dies early so many times in a row is broken: the run ends. Any other death is answered by a restart."""


@dataclass(frozen=True, slots=True)
class Role:
    """One kind of worker process."""

    name: str
    what: str


CORRELATOR = Role("correlator", "tool events to recall events and trajectories")
SINK = Role("sink", "topics to Parquet and the catalog")
APPLIER = Role("applier", "published priors to the search store")
RANKER = Role("ranker", "searches and consumptions to published priors")

COLLECTOR = Role("collector", "hooks, traces and events over HTTP to the log")
HUB = Role("hub", "the REST API")
COMPACTOR = Role("compactor", "many small files of closed days to one a day")

ROLES: tuple[Role, ...] = (CORRELATOR, SINK, APPLIER)
"""What turns events into figures and figures into ranks."""

SERVING: tuple[Role, ...] = (*ROLES, RANKER, COLLECTOR, HUB, COMPACTOR)
"""What `trodden up` runs: it also takes events in, and publishes priors by the clock."""


class RoleFailed(TerminalError):
    """A worker process ended again and again; the message has its last words."""


class Stack:
    """The running pipeline of one data folder. Use it with `async with`."""

    def __init__(self, settings: Settings, *, roles: Iterable[Role] = ROLES) -> None:
        self.settings = settings
        self._roles = tuple(roles)
        self._exit = contextlib.AsyncExitStack()
        self.children: dict[str, Child] = {}
        self._early_deaths: dict[str, int] = {}
        self.connection: Connection
        self.emitter: KafkaEmitter

    async def __aenter__(self) -> Self:
        try:
            self.settings.data_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageUnavailable(f"expected a folder to write to, got {self.settings.data_dir}: {error}") from error
        async with contextlib.AsyncExitStack() as started:
            self.connection = started.enter_context(broker_for(self.settings))
            await ensure_topics(self.connection, partitions=self.settings.partitions)
            started.callback(self._stop_roles)
            for role in self._roles:
                self._start(role.name)
            self.emitter = await started.enter_async_context(KafkaEmitter(self.connection))
            watcher = asyncio.create_task(self._watch())
            started.callback(watcher.cancel)
            self._watcher = watcher
            self._exit = started.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._exit.aclose()

    async def drained(self) -> None:
        """Return once everything published so far is correlated, landed, applied, and in the catalog.

        Raises:
            RoleFailed: when a role keeps dying, so that this would never come.
        """
        await self._caught_up(CORRELATOR_GROUP, [TOOL_EVENTS.name])
        await self._caught_up(SINK_GROUP, [t.name for t in TOPICS] + [t.dead for t in TOPICS])
        if "applier" in self.children:
            await self._caught_up(APPLIER_GROUP, [ANCHOR_PRIORS.name])
        await asyncio.to_thread(self._publish_catalog)

    async def until(self, stop: asyncio.Event) -> None:
        """Return when told to stop.

        Raises:
            RoleFailed: when a role keeps dying.
        """
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([stopping, self._watcher], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if self._watcher.done():
            self._watcher.result()

    async def backlog(self) -> int:
        """Return the records that the correlator and the sink have yet to work off."""
        behind = await lag(self.connection, CORRELATOR_GROUP, [TOOL_EVENTS.name])
        behind |= await lag(self.connection, SINK_GROUP, [RECALL_EVENTS.name, TRAJECTORIES.name])
        return sum(behind.values())

    async def _caught_up(self, group: str, topics: list[str]) -> None:
        while any((await lag(self.connection, group, topics)).values()):
            if self._watcher.done():
                self._watcher.result()
            await asyncio.sleep(0.2)

    def _publish_catalog(self) -> None:
        """Publish now: under load the sink itself lets some time pass between two catalogs."""
        storage = LocalStorage(self.settings.tables_dir)
        publisher.publish(storage, self.settings.data_dir / publisher.CATALOG)

    def _start(self, role: str) -> None:
        self.children[role] = spawn(
            role,
            [sys.executable, "-m", "deploy.cli.main", "worker", role],
            log=self.settings.data_dir / "logs" / f"{role}.log",
            env={
                "TRODDEN_DATA": str(self.settings.data_dir),
                "TRODDEN_BROKER": self.connection.bootstrap,
                "TRODDEN_SESSION_SECONDS": str(self.connection.session_timeout_s),
                "TRODDEN_FLUSH_ROWS": str(self.settings.flush_rows),
                "TRODDEN_FLUSH_SECONDS": str(self.settings.flush_seconds),
                "TRODDEN_FLUSH_IDLE_SECONDS": str(self.settings.flush_idle_seconds),
            },
        )

    def _stop_roles(self) -> None:
        for child in self.children.values():
            if child.alive:
                child.process.terminate()
        for child in self.children.values():
            child.stop()

    async def _watch(self) -> None:
        """Restart a role that died; give up on one that keeps dying early."""
        while True:
            for role, child in list(self.children.items()):
                if not child.alive:
                    self._mourn(role, child)
                    self._start(role)
            await asyncio.sleep(0.1)

    def _mourn(self, role: str, child: Child) -> None:
        early = child.age < EARLY_SECONDS
        deaths = self._early_deaths[role] = self._early_deaths.get(role, 0) + 1 if early else 0
        if deaths == MAX_EARLY_DEATHS:
            raise RoleFailed(f"{role} ended {deaths} times right after its start, last with:\n{child.last_words()}")
