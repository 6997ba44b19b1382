"""Where rows lie: folder by day, file name by content.

`<table>/dt=YYYY-MM-DD/<digest>.parquet`, one file a table and day of each landing, whatever partitions its rows came
from: most of a small file's cost is the file. The same records cut the same way give the same name and the same bytes,
so landing twice changes nothing. Cut differently (after a crash, or by a new owner after a rebalance) they give other
names whose rows repeat, and the view removes them by identity. Topic, partition and offset stand in every row.
"""

from __future__ import annotations

import hashlib
import re
from datetime import date

DAY = re.compile(r"dt=(\d{4}-\d{2}-\d{2})")
SEED = "dt=1970-01-01/_schema.parquet"
"""File without rows that gives a table its columns before the first row comes."""


def folder(table: str, day: date) -> str:
    """Return the folder of one day of a table, relative to the root."""
    return f"{table}/dt={day.isoformat()}"


def landed(table: str, day: date, data: bytes) -> str:
    """Return the path of a landed file with these bytes, relative to the root."""
    return f"{folder(table, day)}/{digest(data)}.parquet"


def digest(data: bytes) -> str:
    """Return what names a file by its content."""
    return hashlib.sha256(data).hexdigest()[:16]


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
