"""The main job on session files: publish what is new, wait until it is landed, tell what came of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.running import joined, running
from deploy.settings import Settings
from deploy.stack import CORRELATOR, SINK, Stack
from producers.client import Publisher
from producers.job import Progress, import_paths
from producers.report import ImportReport
from producers.store import Ledger


@dataclass(frozen=True, slots=True)
class Stage:
    """What the job does at present, for whoever watches."""

    name: str
    done: int = 0
    total: int | None = None


Watch = Callable[[Stage], None]


async def import_sessions(
    settings: Settings, paths: Sequence[Path], *, watch: Watch = lambda _: None, again: bool = False
) -> ImportReport:
    """Bring the sessions of these files and folders into the warehouse.

    Joins the pipeline that runs on the data folder, or runs one of its own meanwhile.

    Raises:
        BrokerUnavailable: when the broker of the settings does not answer.
        RoleFailed: when a worker keeps dying.
    """
    own = running(settings) is None
    watch(Stage("starting broker and workers" if own else "joining the running pipeline"))
    async with Stack(joined(settings), roles=(CORRELATOR, SINK) if own else ()) as stack:
        return await publish_sessions(stack, paths, watch=watch, again=again)


async def publish_sessions(
    stack: Stack, paths: Sequence[Path], *, watch: Watch = lambda _: None, again: bool = False
) -> ImportReport:
    """Publish the sessions of these paths on a running pipeline and return once they are landed."""

    def tell(progress: Progress) -> None:
        watch(Stage("reading and publishing sessions", progress.files_done, progress.files))

    async def landed() -> None:
        watch(Stage("correlating and landing"))
        await stack.drained()

    with contextlib.closing(Ledger(stack.settings.ledger_path)) as ledger:
        return await import_paths(paths, Publisher(stack.emitter), ledger, tell, again=again, landed=landed)
