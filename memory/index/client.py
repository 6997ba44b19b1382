"""Connections to one SQLite file through apsw: a reader for each thread, one writer thread, WAL.

All writes queue on a single thread and run in `BEGIN IMMEDIATE`: a second writer buys nothing and costs the tail, and
a deferred transaction that turns into a write fails at once when another has committed. A read is one snapshot.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import apsw
import sqlite_vec

from memory.index.migrate import Migration, migrate
from streams.errors import StorageUnavailable

T = TypeVar("T")

BUSY_TIMEOUT_MS = 5000
"""Source: F102 (busy_timeout); other processes may write the same file."""

READER_PRAGMAS = "PRAGMA query_only = 1; PRAGMA mmap_size = 268435456; PRAGMA cache_size = -16384;"


class Database:
    """One SQLite file."""

    def __init__(self, path: Path, steps: tuple[Migration, ...]) -> None:
        """Open the file, set aside what is broken, and bring its schema up to date.

        Raises:
            StorageUnavailable: when the file cannot be opened or is locked for too long.
        """
        self.path = path
        self.recovered: str | None = None
        """What was wrong with the file that stood here, and where it was moved."""
        self._steps = steps
        self._local = threading.local()
        self._open: list[apsw.Connection] = []
        self._guard = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"write-{path.stem}")
        self._write_db: apsw.Connection = self._writer.submit(self._prepare).result()

    def _prepare(self) -> apsw.Connection:
        self.is_new = not self.path.exists() or self.path.stat().st_size == 0
        fault = None if self.is_new else damage(self.path)
        if fault is not None:
            aside = set_aside(self.path)
            self.recovered = f"{self.path.name} was broken ({fault}) and was moved to {aside.name}"
            self.is_new = True
        try:
            db = self._connect()
            db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 67108864;")
            migrate(db, self._steps)
        except (apsw.BusyError, apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError, apsw.FullError) as error:
            raise StorageUnavailable(f"cannot open {self.path}: {error}") from error
        return db

    def _connect(self) -> apsw.Connection:
        db = apsw.Connection(str(self.path))
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        db.execute("PRAGMA foreign_keys = 1")
        db.enable_load_extension(True)
        db.load_extension(sqlite_vec.loadable_path())
        db.enable_load_extension(False)
        with self._guard:
            self._open.append(db)
        return db

    @contextmanager
    def read(self) -> Iterator[apsw.Connection]:
        """Give this thread's connection, inside one snapshot."""
        db: apsw.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = self._connect()
            db.execute(READER_PRAGMAS)
        if db.in_transaction:
            yield db
            return
        db.execute("BEGIN")
        try:
            yield db
        finally:
            db.execute("ROLLBACK")

    def write(self, change: Callable[[apsw.Connection], T]) -> T:
        """Run a change in one transaction on the writer thread and return its result; an error changes nothing.

        Raises:
            StorageUnavailable: when the disk refuses, or another process held the file for longer than five seconds.
        """
        return self._writer.submit(self._transact, change).result()

    def _transact(self, change: Callable[[apsw.Connection], T]) -> T:
        db = self._write_db
        try:
            db.execute("BEGIN IMMEDIATE")
            try:
                result = change(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        except (apsw.BusyError, apsw.IOError, apsw.FullError, apsw.ReadOnlyError) as error:
            raise StorageUnavailable(f"cannot write {self.path}: {error}") from error
        return result

    def tidy(self) -> None:
        """Fold the write-ahead log into the file where no reader stands in the way."""
        self._writer.submit(lambda: self._write_db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()).result()

    def close(self) -> None:
        """Wait for queued writes and close every connection."""
        self._writer.shutdown(wait=True)
        with self._guard:
            for db in self._open:
                db.close()
            self._open.clear()


def rows(db: apsw.Connection, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a query as plain tuples."""
    return db.execute(sql, values).fetchall()


def damage(path: Path) -> str | None:
    """Return what is wrong with a SQLite file in words, or null when SQLite's quick check finds nothing."""
    try:
        with open(path, "rb") as file:
            if not file.read(16).startswith(b"SQLite format 3"):
                return "no SQLite file"
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            found = [row[0] for row in db.execute("PRAGMA quick_check(3)")]
        finally:
            db.close()
    except (apsw.CorruptError, apsw.NotADBError) as error:
        return str(error)
    return None if found == ["ok"] else "; ".join(str(line) for line in found)


def set_aside(path: Path) -> Path:
    """Move a database with its log files out of the way and return the new name of the database."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    names = (f"{path.name}.broken-{stamp}{suffix}" for suffix in ("", *(f"-{n}" for n in range(1, 1000))))
    aside = next(path.with_name(name) for name in names if not path.with_name(name).exists())
    for suffix in ("-wal", "-shm", ""):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(aside.with_name(aside.name + suffix))
    return aside
