"""Compaction, retention and the clean-up after them: fewer and larger files, and no more of them than wanted.

Only one process compacts a warehouse at a time (a file lock); sinks and readers go on meanwhile.
"""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from warehouse import manifest, partition, publisher
from warehouse.manifest import Manifest
from warehouse.schema import TABLES, Table
from warehouse.storage.store import Storage

GRACE = timedelta(minutes=10)
"""How long a file stays after nothing lists it any more: longer than any query runs."""

OPEN_DAY_FILES = 50
"""A day that is still being landed in is compacted from so many files on: each costs a query about 0.3 ms."""


@dataclass(slots=True)
class Compacted:
    """What a run did."""

    days: int = 0
    rows: int = 0
    files_before: int = 0
    files_after: int = 0
    deleted: list[str] = field(default_factory=list)
    bytes_freed: int = 0
    expired: list[str] = field(default_factory=list)
    """`table/dt=...` of days that were past their retention."""
    busy: bool = False
    """Another process was compacting: nothing was done."""


class Compactor:
    """Rewrites days of one warehouse.

    Args:
        root: The data folder; scratch files and the lock lie there, also when the tables lie in an object store.
    """

    def __init__(self, storage: Storage, root: str | Path, *, memory: str = "1GB", threads: int = 2) -> None:
        self.storage = storage
        self.root = Path(root).absolute()
        self.catalog = self.root / publisher.CATALOG
        self._limits: dict[str, str] = {"memory_limit": memory, "threads": str(threads)}

    def run(self, now: datetime, *, grace: timedelta = GRACE, retention: Mapping[str, int] | None = None) -> Compacted:
        """Expire, compact closed days and crowded open ones, publish, and remove what nothing lists.

        Args:
            retention: Days that a table keeps, by table; a table that is not named keeps everything.
        """
        done = Compacted()
        with self.alone() as alone:
            if not alone:
                return replace(done, busy=True)
            self._expire(now, retention or {}, done)
            for table in TABLES:
                for day, paths in self.crowded(table, now):
                    self.rewrite(table, day, paths, now)
                    done.days += 1
                    done.files_before += len(paths)
                    done.files_after += 1
            publisher.publish(self.storage, self.catalog)
            self.collect(now, grace, done)
        return done

    @contextlib.contextmanager
    def alone(self) -> Iterator[bool]:
        """Hold the right to rewrite files; false while another process has it."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / ".compact.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True

    def crowded(self, table: Table, now: datetime) -> list[tuple[date, list[str]]]:
        """Return the days worth compacting, each with its live files (the compacted one among them)."""
        by_day: dict[date, list[str]] = {}
        for path in publisher.live(self.storage, table.name).tail:
            day = partition.day_in(path)
            if day is not None and path != partition.seed(table.name):
                by_day.setdefault(day, []).append(path)
        stale = publisher.live(self.storage, table.name).unflattened if table.name == "recall_events" else []
        for path in stale:
            by_day.setdefault(partition.day(path), []).append(path)
        today = now.astimezone(UTC).date()
        return [(day, paths) for day, paths in sorted(by_day.items()) if day < today or len(paths) >= OPEN_DAY_FILES]

    def rewrite(
        self,
        table: Table,
        day: date,
        paths: Sequence[str],
        now: datetime,
        *,
        where: str = "TRUE",
        parameters: Mapping[str, Any] | None = None,
    ) -> Manifest:
        """Put the rows of these files, each identity once and only those of `where`, into one file, and commit it."""
        earlier = publisher.manifests_of(self.storage, table.name).get(day)
        landed = {path for path in paths if not path.startswith(manifest.FOLDER)}
        with publisher.scratch(self.root / ".compact") as folder:
            files = _Scratch(folder, self._limits)
            # Rows that another day holds as well (an identity without day) are still removed by the view.
            source = publisher.scan(self.storage, paths)
            kept = f"SELECT * FROM ({publisher.distinct(table, source)}) WHERE {where}"
            rows = files.copy(table.name, kept, parameters)
            flat = publisher.flat_views() if table.name == "recall_events" and rows else []
            for view in flat:
                files.flatten(view.name, view.sql)
            stored = {name: self._store(table.name, day, name, file) for name, file in files.written.items()}
        made = Manifest(
            table=table.name,
            day=day,
            file=stored.pop(table.name) if rows else "",
            rows=rows,
            flat=stored if rows else {},
            flat_version=publisher.flat_version(),
            absorbed=tuple(sorted(landed | set(earlier.absorbed if earlier else ()))),
            superseded=(*earlier.superseded, earlier.file, *earlier.flat.values()) if earlier else (),
            committed_at=now,
        )
        committed = _without(made, {"", made.file, *made.flat.values()})
        self.storage.put(manifest.path(table.name, day), manifest.encode(committed))
        return committed

    def _store(self, table: str, day: date, name: str, file: Path) -> str:
        path = f"{manifest.folder(table, day)}/{name}-{partition.digest(file.read_bytes())}.parquet"
        self.storage.put_file(path, file)
        return path

    def _expire(self, now: datetime, retention: Mapping[str, int], done: Compacted) -> None:
        for table in TABLES:
            days = retention.get(table.name)
            if days is None:
                continue
            oldest = now.astimezone(UTC).date() - timedelta(days=days)
            files = publisher.live(self.storage, table.name)
            by_day: dict[date, list[str]] = {}
            for path in files.clean + files.tail:
                if path != partition.seed(table.name):
                    by_day.setdefault(partition.day(path), []).append(path)
            for day, paths in sorted(by_day.items()):
                if day < oldest:
                    self.rewrite(table, day, paths, now, where="FALSE")
                    done.expired.append(partition.folder(table.name, day))

    def collect(self, now: datetime, grace: timedelta, done: Compacted) -> None:
        """Remove files that no manifest and no catalog lists, once their grace has passed."""
        listed = self._listed()
        for table in TABLES:
            kept: set[str] = set()
            for day, current in publisher.manifests_of(self.storage, table.name).items():
                kept |= {current.file, *current.flat.values(), *current.superseded}
                if now - current.committed_at >= grace and (current.absorbed or current.superseded):
                    gone = [
                        path for path in current.absorbed + current.superseded if self.storage.uri(path) not in listed
                    ]
                    for path in gone:
                        self._delete(path, done)
                    left = _without(current, set(gone))
                    self.storage.put(manifest.path(table.name, day), manifest.encode(left))
            for path in self.storage.find(f"{manifest.FOLDER}/{table.name}"):
                if path not in kept and self.storage.uri(path) not in listed:
                    self._delete(path, done)  # left by a run that was killed before its commit

    def _delete(self, path: str, done: Compacted) -> None:
        with contextlib.suppress(FileNotFoundError):
            done.bytes_freed += self.storage.size(path)
            self.storage.delete(path)
            done.deleted.append(path)

    def _listed(self) -> str:
        """Return the text of every view of the published catalog: a file named in it may be read at any moment."""
        connection = duckdb.connect()
        try:
            connection.execute(f"ATTACH '{self.catalog.as_posix()}' AS published (READ_ONLY)")
            rows = connection.execute("SELECT sql FROM duckdb_views() WHERE database_name = 'published'").fetchall()
        finally:
            connection.close()
        return "\n".join(row[0] for row in rows)


def _without(current: Manifest, gone: set[str]) -> Manifest:
    return msgspec.structs.replace(
        current,
        absorbed=tuple(path for path in current.absorbed if path not in gone),
        superseded=tuple(path for path in current.superseded if path not in gone),
    )


class _Scratch:
    """Files being made in a scratch folder, by one DuckDB in memory."""

    def __init__(self, folder: Path, limits: Mapping[str, str]) -> None:
        self._folder = folder
        self._connection = duckdb.connect(config={**limits, "temp_directory": str(folder)})
        self._connection.execute("SET TimeZone = 'UTC'")
        self.written: dict[str, Path] = {}

    def copy(self, name: str, query: str, parameters: Mapping[str, Any] | None = None) -> int:
        """Write a query's rows, without the day that the folder says, and return how many there are."""
        path = self._folder / f"{name}.parquet"
        copied = self._connection.execute(
            f"COPY (SELECT * EXCLUDE (dt) FROM ({query})) TO '{path.as_posix()}' "
            "(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)",
            dict(parameters or {}),
        ).fetchall()
        self.written[name] = path
        rows: int = copied[0][0]
        return rows

    def flatten(self, name: str, sql: str) -> None:
        """Write a flat view of the searches just written."""
        source = f"(SELECT *, DATE '1970-01-01' AS dt FROM read_parquet('{self.written['recall_events'].as_posix()}'))"
        self._connection.execute(f"CREATE OR REPLACE VIEW recall_events AS SELECT * FROM {source}")
        self._connection.execute(f"CREATE OR REPLACE VIEW {name} AS {sql}")
        self.copy(name, f"SELECT * FROM {name}")
