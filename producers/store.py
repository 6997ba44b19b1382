"""The import ledger: what stands on the log already, on disk, so that an import may stop anywhere and run again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import apsw
import msgspec

from producers.lineage import Owner
from producers.report import FileReport
from streams.errors import StorageUnavailable

_SCHEMA = """
CREATE TABLE IF NOT EXISTS published (event_id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (
    call_key TEXT PRIMARY KEY, invocation_id TEXT NOT NULL, root_session_id TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (uri TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, report BLOB NOT NULL) WITHOUT ROWID;
"""


class Ledger:
    """What has been published, in one SQLite file. Records only what the broker has acknowledged."""

    def __init__(self, path: Path) -> None:
        """Open or create the ledger.

        Raises:
            StorageUnavailable: when the file cannot be opened or written.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = apsw.Connection(str(path))
            self._db.set_busy_timeout(10_000)
            for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", _SCHEMA):
                self._db.execute(statement).fetchall()
        except (OSError, apsw.Error) as error:
            raise StorageUnavailable(f"ledger {path}: {error}") from error

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
            "SELECT call_key, invocation_id, root_session_id FROM calls"
            " WHERE call_key IN (SELECT value FROM json_each(?))",
            (msgspec.json.encode(list(call_keys)).decode(),),
        )
        return {str(key): Owner(str(invocation), str(root)) for key, invocation, root in rows}

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
                    "INSERT INTO calls VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    ((key, owner.invocation_id, owner.root_session_id) for key, owner in owners.items()),
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
