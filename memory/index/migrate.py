"""Forward-only migrations: numbered SQL files, each applied once, in one transaction, in order."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import apsw

from streams.errors import ConfigError

SCHEMA_DIR = Path(__file__).parent / "schema"
_NAME = re.compile(r"(?P<number>\d{4})_\w+\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of a schema."""

    number: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        """sha256 of its text: an applied step may never change."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations(schema: str) -> tuple[Migration, ...]:
    """Return the steps of a schema (`index` or `state`), in order."""
    found = sorted(path for path in (SCHEMA_DIR / schema).iterdir() if _NAME.fullmatch(path.name))
    return tuple(Migration(int(path.name[:4]), path.name, path.read_text(encoding="utf-8")) for path in found)


def migrate(db: apsw.Connection, steps: tuple[Migration, ...]) -> int:
    """Bring a database up to the last step and return how many were applied; running it again applies none.

    Raises:
        ConfigError: when the file is of a newer program, or an applied step has another text now.
    """
    db.execute(
        "CREATE TABLE IF NOT EXISTS schema_steps "
        "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL) STRICT"
    )
    applied: dict[int, str] = dict(db.execute("SELECT number, digest FROM schema_steps"))
    newest = max((step.number for step in steps), default=0)
    if applied and max(applied) > newest:
        raise ConfigError(f"{db.filename} has schema step {max(applied)}, this program knows {newest}: update Trodden")
    for step in steps:
        if step.number in applied and applied[step.number] != step.digest:
            raise ConfigError(f"{db.filename}: step {step.name} was applied with another text")
    pending = [step for step in steps if step.number not in applied]
    for step in pending:
        _apply(db, step)
    return len(pending)


def _apply(db: apsw.Connection, step: Migration) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        if not db.execute("SELECT 1 FROM schema_steps WHERE number = ?", (step.number,)).fetchall():
            db.execute(step.sql)
            db.execute("INSERT INTO schema_steps VALUES (?, ?, ?)", (step.number, step.name, step.digest))
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
