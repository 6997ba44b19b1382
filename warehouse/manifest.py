"""Which files of a day are live: what landed, minus what a compaction has absorbed, plus what it made. Pure.

A compaction writes new files beside the old ones and then one manifest; putting the manifest in place is its commit.
Until then nothing it wrote is seen; from then on the files it absorbed are not. They are removed only after a grace
that is longer than any query, because a reader may still be on the list of before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

import msgspec

from warehouse import partition

FOLDER = "_compact"
NAME = "manifest.json"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What stands for one day of a table since its last compaction."""

    table: str
    day: date
    file: str
    """The one file with all rows, each identity once; empty when the day has no rows left."""
    rows: int
    flat: dict[str, str]
    """Flat views of the day (recall_fact, ...) as files of their own, by name."""
    flat_version: str
    """Digest of the SQL that made them: files of other SQL are not used."""
    absorbed: tuple[str, ...]
    """Landed files whose rows are in `file`."""
    superseded: tuple[str, ...]
    """Files of earlier compactions of the day that nothing lists any more."""
    committed_at: datetime


@dataclass(slots=True)
class Live:
    """The live files of one table."""

    clean: list[str] = field(default_factory=list)
    """Compacted days that nothing has landed in since: their rows are distinct already."""
    tail: list[str] = field(default_factory=list)
    """Files whose rows may repeat each other: landed ones, and the compacted ones of the days they lie in."""
    flat: dict[str, list[str]] = field(default_factory=dict)
    """Flat files of clean days, by view. A clean day without them is read from its rows."""
    unflattened: list[str] = field(default_factory=list)
    """Clean files that have no usable flat files."""


def folder(table: str, day: date) -> str:
    """Return where the compacted files and the manifest of a day lie."""
    return f"{FOLDER}/{partition.folder(table, day)}"


def path(table: str, day: date) -> str:
    """Return the path of a day's manifest."""
    return f"{folder(table, day)}/{NAME}"


def encode(manifest: Manifest) -> bytes:
    """Return a manifest as it is stored."""
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1)


def decode(data: bytes) -> Manifest:
    """Return a stored manifest.

    Raises:
        msgspec.DecodeError: for bytes that are none.
    """
    return msgspec.json.decode(data, type=Manifest)


def live(landed: Iterable[str], manifests: Mapping[date, Manifest], flat_version: str) -> Live:
    """Return the live files of a table, given all files that landed in it and its manifests by day."""
    found = Live()
    absorbed = {name for manifest in manifests.values() for name in manifest.absorbed}
    by_day: dict[date | None, list[str]] = {}
    for name in landed:
        if name not in absorbed:
            by_day.setdefault(partition.day_in(name), []).append(name)
    for day, manifest in manifests.items():
        if not manifest.file:
            continue
        if day in by_day:
            by_day[day].append(manifest.file)
        else:
            found.clean.append(manifest.file)
            if manifest.flat and manifest.flat_version == flat_version:
                for name, file in manifest.flat.items():
                    found.flat.setdefault(name, []).append(file)
            else:
                found.unflattened.append(manifest.file)
    found.tail = sorted(name for names in by_day.values() for name in names)
    return found
