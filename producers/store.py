"""What producers keep on disk: the ledger of what stands on the log already, and the spool of what does not yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import apsw
import msgspec

from producers.lineage import Owner
from producers.report import FileReport
from producers.spool import Spooled
from streams.errors import StorageUnavailable

_SCHEMA = """
CREATE TABLE IF NOT EXISTS published (event_id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS call_owners (
    call_key TEXT PRIMARY KEY, invocation_id TEXT NOT NULL, session_id TEXT NOT NULL, root_session_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (uri TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, report BLOB NOT NULL) WITHOUT ROWID;
"""


def _opened(path: Path, schema: str) -> apsw.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(10_000)
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", schema):
            connection.execute(statement).fetchall()
    except (OSError, apsw.Error) as error:
        raise StorageUnavailable(f"{path}: {error}") from error
    return connection


class Ledger:
    """What has been published, in one SQLite file. Records only what the broker has acknowledged."""

    def __init__(self, path: Path) -> None:
        """Open or create the ledger.

        Raises:
            StorageUnavailable: when the file cannot be opened or written.
        """
        self._db = _opened(path, _SCHEMA)

    def published(self, event_ids: Iterable[str]) -> frozenset[str]:
        """Return those of the ids that stand on the log."""
        rows = self._db.execute(
            "SELECT event_id FROM published WHERE event_id IN (SELECT value FROM json_each(?))",
            (msgspec.json.encode(list(event_ids)).decode(),),
        )
        return frozenset(str(row[0]) for row in rows)

    def owners(self, call_keys: Iterable[str]) -> dict[str, Owner]:
        """Return who owns those of the calls that stand on the log."""
        rows = self._db.execute(
            "SELECT call_key, invocation_id, session_id, root_session_id FROM call_owners"
            " WHERE call_key IN (SELECT value FROM json_each(?))",
            (msgspec.json.encode(list(call_keys)).decode(),),
        )
        return {str(key): Owner(str(invocation), str(session), str(root)) for key, invocation, session, root in rows}

    def reports(self, files: Sequence[tuple[str, str]]) -> list[FileReport] | None:
        """Return what was told of these (file, fingerprint) pairs, or null when one of them is new or has changed."""
        found: list[FileReport] = []
        for uri, fingerprint in files:
            row = self._db.execute(
                "SELECT report FROM files WHERE uri = ? AND fingerprint = ?", (uri, fingerprint)
            ).fetchone()
            if row is None:
                return None
            found.append(msgspec.json.decode(row[0], type=FileReport))
        return found

    def record(
        self,
        *,
        event_ids: Iterable[str],
        owners: dict[str, Owner],
        files: Iterable[tuple[str, str, FileReport]],
    ) -> None:
        """Write down in one transaction what the broker has acknowledged; the first owner of a call stays.

        Raises:
            StorageUnavailable: when the disk refuses; the events may be published again.
        """
        try:
            with self._db:
                self._db.executemany(
                    "INSERT INTO published VALUES (?) ON CONFLICT DO NOTHING", ((event_id,) for event_id in event_ids)
                )
                self._db.executemany(
                    "INSERT INTO call_owners VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    ((key, own.invocation_id, own.session_id, own.root_session_id) for key, own in owners.items()),
                )
                self._db.executemany(
                    "INSERT INTO files VALUES (?, ?, ?) ON CONFLICT (uri)"
                    " DO UPDATE SET fingerprint = excluded.fingerprint, report = excluded.report",
                    ((uri, fingerprint, msgspec.json.encode(asdict(report))) for uri, fingerprint, report in files),
                )
        except apsw.Error as error:
            raise StorageUnavailable(f"ledger: {error}") from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()


_SPOOL = """
CREATE TABLE IF NOT EXISTS spool (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, adapter TEXT NOT NULL, endpoint TEXT NOT NULL,
    received_at TEXT NOT NULL, body BLOB NOT NULL
);
"""


class Spool:
    """Payloads that a collector took in and that are not on the log yet, in order of receipt."""

    def __init__(self, path: Path, *, max_bytes: int = 1 << 30) -> None:
        """Open or create the spool.

        Args:
            path: Its SQLite file.
            max_bytes: Payload bytes it holds at most; more is refused, so that a broker that stays away fills no disk.

        Raises:
            StorageUnavailable: when the file cannot be opened or written.
        """
        self._db = _opened(path, _SPOOL)
        self._max_bytes = max_bytes
        self._bytes = sum(int(row[0]) for row in self._db.execute("SELECT length(body) FROM spool"))

    @property
    def size_bytes(self) -> int:
        """Payload bytes that wait."""
        return self._bytes

    def put(self, *, adapter: str, endpoint: str, received_at: datetime, body: bytes) -> int:
        """Keep a payload and return its number; once this returns it outlives the process.

        Raises:
            StorageUnavailable: when the spool is full or the disk refuses.
        """
        if self._bytes + len(body) > self._max_bytes:
            raise StorageUnavailable(f"spool: expected at most {self._max_bytes} bytes, {self._bytes} wait already")
        try:
            self._db.execute(
                "INSERT INTO spool (adapter, endpoint, received_at, body) VALUES (?, ?, ?, ?)",
                (adapter, endpoint, received_at.isoformat(), body),
            )
        except apsw.Error as error:
            raise StorageUnavailable(f"spool: {error}") from error
        self._bytes += len(body)
        return self._db.last_insert_rowid()

    def peek(self, limit: int) -> list[Spooled]:
        """Return the oldest payloads, at most `limit`; they stay until they are removed."""
        rows = self._db.execute("SELECT * FROM spool ORDER BY seq LIMIT ?", (limit,))
        return [
            Spooled(
                seq=int(seq),
                adapter=str(adapter),
                endpoint=str(endpoint),
                received_at=datetime.fromisoformat(str(received_at)),
                body=bytes(body),
            )
            for seq, adapter, endpoint, received_at, body in rows
        ]

    def remove(self, payloads: Iterable[Spooled]) -> None:
        """Forget payloads that are on the log."""
        gone = list(payloads)
        self._db.execute(
            "DELETE FROM spool WHERE seq IN (SELECT value FROM json_each(?))",
            (msgspec.json.encode([payload.seq for payload in gone]).decode(),),
        )
        self._bytes -= sum(len(payload.body) for payload in gone)

    def close(self) -> None:
        """Close the file."""
        self._db.close()
