"""Imports session files: finds them, translates them lineage by lineage, publishes what is new, and reports.

It may be stopped anywhere: what the broker has acknowledged stands in the ledger, the rest is done by the next run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from producers import lineage
from producers.client import Publisher
from producers.files.store import Found, found_in, lineages, read
from producers.identity import event_id
from producers.lines import Problem
from producers.report import FileReport, ImportReport, file_reports
from producers.store import Ledger
from streams.codec import LogEvent
from streams.events import ToolCalled

BATCH_EVENTS = 4_000
"""Events that are published together."""

LANDING_EVENTS = 40_000
"""Events that are published before the ledger waits for them to land: what a killed import does once more."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an import is."""

    files_done: int
    files: int
    events: int
    published: int


@dataclass(slots=True)
class _Unpublished:
    events: list[LogEvent] = field(default_factory=list)
    dead: list[tuple[str, Problem]] = field(default_factory=list)


@dataclass(slots=True)
class _Unrecorded:
    """What the ledger does not know yet."""

    fresh: set[str] = field(default_factory=set)
    owners: dict[str, lineage.Owner] = field(default_factory=dict)
    files: list[tuple[str, str, FileReport]] = field(default_factory=list)


async def import_paths(
    paths: Sequence[Path],
    publisher: Publisher,
    ledger: Ledger,
    progress: Callable[[Progress], None] = lambda _: None,
    *,
    again: bool = False,
    landed: Callable[[], Awaitable[None]] | None = None,
    batch_events: int = BATCH_EVENTS,
) -> ImportReport:
    """Publish what is new in these files and folders.

    Args:
        paths: Files are read whatever their name, folders are searched for session files.
        publisher: Where the events go.
        ledger: What stands on the log already.
        progress: Called after every lineage of files.
        again: Publish everything once more, for a log that has lost it; the ids stay the same.
        landed: Returns once everything published so far is on disk. Needed with a broker that forgets: only then is
            it written down as done. Null for a broker that keeps what it acknowledged.
        batch_events: Events that are published together.

    Raises:
        BrokerUnavailable: when the broker is away; what it had acknowledged is recorded, run again for the rest.
    """
    unread: dict[str, str] = {}
    groups = lineages(found_in(paths, unread))
    run = _Import(publisher, ledger, again=again, landed=landed, batch_events=batch_events)
    total, done = sum(len(group) for group in groups), 0
    for group in groups:
        await run.add(group, unread)
        done += len(group)
        progress(Progress(done, total, run.events, run.published))
    await run.publish()
    await run.record()
    progress(Progress(done, total, run.events, run.published))
    return ImportReport(
        files=tuple(run.reports),
        unread=unread,
        published=run.published,
        republished=run.republished,
        dead_lettered=run.dead_lettered,
    )


class _Import:
    """One run of an import."""

    def __init__(
        self,
        publisher: Publisher,
        ledger: Ledger,
        *,
        again: bool,
        landed: Callable[[], Awaitable[None]] | None,
        batch_events: int,
    ) -> None:
        self._publisher, self._ledger, self._again, self._landed = publisher, ledger, again, landed
        self._batch_events = batch_events
        self._waiting = _Unpublished()
        self._news = _Unrecorded()
        self.reports: list[FileReport] = []
        self.events = self.published = self.republished = self.dead_lettered = 0

    async def add(self, group: Sequence[Found], unread: dict[str, str]) -> None:
        """Take in the files of one lineage."""
        known = None if self._again else self._ledger.reports([(item.uri, item.fingerprint) for item in group])
        if known is not None:
            self.reports += [replace(report, published=0, dead_lettered=0) for report in known]
            self.events += sum(report.events for report in known)
            return
        sources = [source for item in group if (source := read(item, unread)) is not None]
        if not sources:
            return
        adapter = group[0].adapter
        translation = adapter.translate(sources)
        plan = self._plan(translation.events)
        dead = self._new_dead(adapter.name, [p for p in translation.problems if p.kind == "dead"])
        reports = [_published(report, plan, dead) for report in file_reports(adapter.name, translation)]
        self._hold(group, adapter.name, plan, dead, reports)
        self.reports += reports
        self.events += len(translation.events)
        if len(self._waiting.events) >= self._batch_events:
            await self.publish()
            if self._landed is None or len(self._news.fresh) >= LANDING_EVENTS:
                await self.record()

    def _plan(self, events: Sequence[LogEvent]) -> lineage.Plan:
        keys = [lineage.call_key(event) for event in events if isinstance(event, ToolCalled)]
        owners = self._ledger.owners(keys) | {key: self._news.owners[key] for key in keys if key in self._news.owners}
        ids = [event.event_id for event in events]
        published = frozenset() if self._again else self._ledger.published(ids)
        return lineage.plan(events, published=published | (self._news.fresh & set(ids)), owners=owners)

    def _new_dead(self, adapter: str, problems: Sequence[Problem]) -> dict[str, Problem]:
        found = {event_id("dead", adapter, problem.uri, problem.raw.hex()): problem for problem in problems}
        known = frozenset() if self._again else self._ledger.published(found)
        return {key: problem for key, problem in found.items() if key not in known and key not in self._news.fresh}

    def _hold(
        self,
        group: Sequence[Found],
        adapter: str,
        plan: lineage.Plan,
        dead: dict[str, Problem],
        reports: Sequence[FileReport],
    ) -> None:
        self._waiting.events += plan.events
        self._waiting.dead += [(adapter, problem) for problem in dead.values()]
        self._news.fresh |= plan.fresh | dead.keys()
        for event in plan.events:
            if isinstance(event, ToolCalled):
                owner = lineage.Owner(event.invocation_id, event.session_id, event.root_session_id)
                self._news.owners.setdefault(lineage.call_key(event), owner)
        prints = {item.uri: item.fingerprint for item in group}
        self._news.files += [(report.path, prints[report.path], report) for report in reports]

    async def publish(self) -> None:
        """Publish what waits."""
        waiting = self._waiting
        await self._publisher.publish(waiting.events)
        for adapter, problem in waiting.dead:
            await self._publisher.dead_letter([problem], adapter=adapter)
        fresh = sum(event.event_id in self._news.fresh for event in waiting.events)
        self.published += fresh
        self.republished += len(waiting.events) - fresh
        self.dead_lettered += len(waiting.dead)
        self._waiting = _Unpublished()

    async def record(self) -> None:
        """Write down what has been published, once it has landed. Nothing may wait to be published."""
        if self._landed is not None and self._news.fresh:
            await self._landed()
        self._ledger.record(event_ids=self._news.fresh, owners=self._news.owners, files=self._news.files)
        self._news = _Unrecorded()


def _published(report: FileReport, plan: lineage.Plan, dead: dict[str, Problem]) -> FileReport:
    fresh = sum(event.event_id in plan.fresh and event.source.uri == report.path for event in plan.events)
    return replace(report, published=fresh, dead_lettered=sum(problem.uri == report.path for problem in dead.values()))
