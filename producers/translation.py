"""What an adapter takes and gives: files of one lineage in, events and problems out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from producers.lines import ByteSource, Problem
from streams.codec import LogEvent


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of a runtime, with its bytes."""

    uri: str
    """As the operator would name it."""
    data: ByteSource
    modified_at: datetime | None = None
    """When the file was last written: the latest its records can be, for sources that write no times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCounts:
    """What an adapter read in one file; skipped records by reason."""

    records: int = 0
    calls: int = 0
    results: int = 0
    errors: int = 0
    pending: int = 0
    """Calls without a result."""
    repeated: int = 0
    """Records that another file or line had told already."""
    tokens_output: int | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """What came of the files of one lineage."""

    events: tuple[LogEvent, ...] = ()
    """By invocation, each in event order; the same bytes give the same events."""
    problems: tuple[Problem, ...] = ()
    files: Mapping[str, FileCounts] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """One way to read a runtime's traces: a row of the registry."""

    name: str
    """Stands in `source.adapter` of its events."""
    runtime: str
    recognises: Callable[[str, bytes], bool]
    """(file name, its first bytes) -> whether the file is of this kind. Asked in registry order."""
    lineage: Callable[[str, bytes], str]
    """(file name, its first bytes) -> key of the session; files of one key are translated together."""
    translate: Callable[[Sequence[SourceFile]], Translation]
