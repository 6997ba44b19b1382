"""Where rows lie: folder by day, file name by the offsets it holds and by its content.

`<table>/dt=YYYY-MM-DD/<topic>-<partition>-<first>-<last>-<digest>.parquet`. The same records cut the same way give the
same name and the same bytes, so landing twice changes nothing. Cut differently (a new owner after a rebalance) they
give other names whose rows repeat, and the view removes them by identity. The digest keeps the offsets of a broker that
started anew from ever overwriting what an earlier one's offsets wrote.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

DAY = re.compile(r"dt=(\d{4}-\d{2}-\d{2})")
SEED = "dt=1970-01-01/_schema.parquet"
"""File without rows that gives a table its columns before the first row comes."""


@dataclass(frozen=True, slots=True, order=True)
class FileName:
    """What a landed file's name says."""

    topic: str
    partition: int
    first: int
    last: int
    """Lowest and highest offset of the records it was cut from, inclusive."""
    digest: str
    """First 12 hex digits of the content's sha256."""

    def __str__(self) -> str:
        """Return the name, without folder."""
        return f"{self.topic}-{self.partition}-{self.first}-{self.last}-{self.digest}.parquet"


_NAME = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)-(?P<first>\d+)-(?P<last>\d+)-(?P<digest>[0-9a-f]{12})\.parquet")


def parse_name(name: str) -> FileName | None:
    """Return what a landed file's name says; null for any other file."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    topic, partition, first, last, digest = match.groups()
    return FileName(topic, int(partition), int(first), int(last), digest)


def folder(table: str, day: date) -> str:
    """Return the folder of one day of a table, relative to the root."""
    return f"{table}/dt={day.isoformat()}"


def seed(table: str) -> str:
    """Return the path of a table's seed file, relative to the root."""
    return f"{table}/{SEED}"


def day_in(path: str) -> date | None:
    """Return the day that a path lies in; null when it lies in none."""
    match = DAY.search(path)
    return date.fromisoformat(match.group(1)) if match else None


def day(path: str) -> date:
    """Return the day that a path lies in.

    Raises:
        ValueError: for a path that lies in none.
    """
    found = day_in(path)
    if found is None:
        raise ValueError(f"expected a path with a day in it, got {path}")
    return found
