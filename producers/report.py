"""The figures of an import, file by file: what was read, what was opened of what had been found, what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from producers.lines import Problem
from producers.translation import FileCounts, Translation
from streams.codec import LogEvent
from streams.events import ToolCalled, ToolStatus
from streams.recall import Candidate, DocRef, PassageRef, UrlRef

MAX_PROBLEMS = 20
"""Problems that a report spells out for one file; the counts are of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """One file of an import."""

    path: str
    adapter: str
    records: int = 0
    calls: int = 0
    results: int = 0
    errors: int = 0
    pending: int = 0
    """Calls that have no result yet, or never will."""
    repeated: int = 0
    """Records that had been told before, in this file or another one."""
    searches: int = 0
    """Grep, Glob, web and memory searches; shell searches are for the correlator to find."""
    reads: int = 0
    """Successful calls that opened a file for reading."""
    reads_on_hits: int = 0
    """Those whose file an earlier search of the session had shown."""
    edits: int = 0
    edits_on_hits: int = 0
    opens: int = 0
    """Successful calls that opened a page or a memory by its address."""
    opens_on_hits: int = 0
    tokens_output: int | None = None
    """Tokens the model wrote; null when the source does not say."""
    events: int = 0
    published: int = 0
    """Events that were not on the log before."""
    dead_lettered: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    """`line N: reason`, at most 20."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import came to."""

    files: tuple[FileReport, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    """Path -> why nothing of it was read."""
    published: int = 0
    """Events that were not on the log before."""
    republished: int = 0
    """Events sent once more, because a later part of their invocation is new."""
    dead_lettered: int = 0

    @property
    def exit_code(self) -> int:
        """Return 0 when anything was processed, 2 when nothing was."""
        return 0 if self.files else 2


def file_reports(adapter: str, translation: Translation) -> list[FileReport]:
    """Return the figures of each file of a translation; nothing is published yet."""
    reports = {
        uri: _from_counts(uri, adapter, counts, [p for p in translation.problems if p.uri == uri])
        for uri, counts in translation.files.items()
    }
    for event in translation.events:
        if event.source.uri in reports:
            known = reports[event.source.uri]
            reports[event.source.uri] = replace(known, events=known.events + 1)
    return [_with_hits(report, translation.events) for report in reports.values()]


def _from_counts(uri: str, adapter: str, counts: FileCounts, problems: Sequence[Problem]) -> FileReport:
    skipped = dict(counts.skipped)
    for problem in problems:
        if problem.kind == "skipped":
            skipped[problem.reason] = skipped.get(problem.reason, 0) + 1
    return FileReport(
        path=uri,
        adapter=adapter,
        records=counts.records,
        calls=counts.calls,
        results=counts.results,
        errors=counts.errors,
        pending=counts.pending,
        repeated=counts.repeated,
        tokens_output=counts.tokens_output,
        skipped=skipped,
        problems=tuple(f"line {problem.line}: {problem.reason}" for problem in problems[:MAX_PROBLEMS]),
    )


def _with_hits(report: FileReport, events: Iterable[LogEvent]) -> FileReport:
    """Count what was opened of what earlier searches of the session had shown, in order of time."""
    calls = [event for event in events if isinstance(event, ToolCalled) and event.status is ToolStatus.OK]
    shown: set[str] = set()
    opened: Counter[str] = Counter()
    for call in sorted(calls, key=lambda item: (item.occurred_at, item.turn_index, item.tool_use_id)):
        if call.source.uri == report.path:
            opened["search"] += call.recall is not None and call.tool != "Bash"
            for touch in call.touched:
                opened[touch.op] += 1
                opened[f"{touch.op} hit"] += not shown.isdisjoint(_endings(touch.path))
        if call.recall is not None:
            for candidate in call.recall.candidates:
                shown |= _names(candidate)
    return replace(
        report,
        searches=opened["search"],
        reads=opened["read"],
        reads_on_hits=opened["read hit"],
        edits=opened["edit"],
        edits_on_hits=opened["edit hit"],
        opens=opened["fetch"],
        opens_on_hits=opened["fetch hit"],
    )


def _endings(path: str) -> list[str]:
    """A path and its relative endings: a search may name a file below its own root."""
    parts = path.split("/")
    return [path, *("/".join(parts[cut:]) for cut in range(1, len(parts)) if "://" not in path)]


def _names(candidate: Candidate) -> set[str]:
    target = candidate.target
    names = {candidate.anchor}
    if isinstance(target, DocRef | PassageRef) and target.path:
        names.add(target.path)
    if isinstance(target, UrlRef):
        names.add(target.url)
    return names
