"""Our own event format, one JSON object a line: for agents that write events themselves, and for files of a spool."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from producers.lines import Problem, json_lines
from producers.translation import Adapter, FileCounts, SourceFile, Translation
from streams import codec
from streams.codec import LogEvent
from streams.events import InvocationEnded, ToolCalled, ToolStatus

NAME = "native"

_KIND = re.compile(rb'"kind"\s*:\s*"(?:ToolCalled|InvocationStarted|InvocationEnded|MessagePosted|OutcomeSignalled)"')


def recognises(name: str, head: bytes) -> bool:
    """Tell whether a file holds our own events."""
    return _KIND.search(head) is not None and b'"event_id"' in head


def lineage(name: str, head: bytes) -> str:
    """Return the file itself: its events carry their sessions."""
    return name


def translate(files: Sequence[SourceFile]) -> Translation:
    """Return the events of the files as they are, each once."""
    events: dict[str, LogEvent] = {}
    problems: list[Problem] = []
    counts: dict[str, FileCounts] = {}
    for file in files:
        found, bad = _read(file)
        fresh = _first_of_each(found, events)
        events |= {event.event_id: event for event in fresh}
        problems += bad
        counts[file.uri] = _counts(found, fresh)
    return Translation(events=tuple(events.values()), problems=tuple(problems), files=counts)


def _first_of_each(found: Sequence[LogEvent], known: Mapping[str, LogEvent]) -> list[LogEvent]:
    fresh: dict[str, LogEvent] = {}
    for event in found:
        if event.event_id not in known:
            fresh.setdefault(event.event_id, event)
    return list(fresh.values())


def _read(file: SourceFile) -> tuple[list[LogEvent], list[Problem]]:
    events: list[LogEvent] = []
    problems: list[Problem] = []
    for item in json_lines(file.data, file.uri):
        if isinstance(item, Problem):
            problems.append(item)
            continue
        event = codec.decode_line(item.raw.strip(b"\xef\xbb\xbf\x00\r "))
        if isinstance(event, codec.BadLine):
            problems.append(
                Problem(
                    uri=file.uri,
                    line=item.number,
                    offset=item.offset,
                    reason=event.reason,
                    kind="dead",
                    stage=event.stage,
                    raw=item.raw,
                )
            )
        else:
            events.append(event)
    return events, problems


def _counts(found: Sequence[LogEvent], fresh: Sequence[LogEvent]) -> FileCounts:
    calls = [event for event in fresh if isinstance(event, ToolCalled)]
    outputs = [event.usage.output for event in fresh if isinstance(event, InvocationEnded) and event.usage]
    known = [output for output in outputs if output is not None]
    return FileCounts(
        records=len(found),
        calls=len(calls),
        results=sum(call.result_digest is not None for call in calls),
        errors=sum(call.status is ToolStatus.ERROR for call in calls),
        pending=sum(call.status is ToolStatus.INTERRUPTED for call in calls),
        repeated=len(found) - len(fresh),
        tokens_output=sum(known) if known else None,
    )


ADAPTER = Adapter(name=NAME, runtime="native", recognises=recognises, lineage=lineage, translate=translate)
