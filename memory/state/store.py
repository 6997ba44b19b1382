"""Rows of state.sqlite: priors with their watermark, first sightings, review flags, registered roots."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw
import msgspec

from memory.index.client import Database, rows
from memory.index.migrate import migrations
from memory.model import Edge
from memory.search.filters import epoch_ms, from_epoch_ms
from streams.recall import AnchorPrior

PRIORS_WATERMARK = "anchor_priors"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A tombstone: the prior of an anchor no longer holds. The log keeps the updates of an anchor in order."""

    anchor: str


class StateStore:
    """state.sqlite."""

    def __init__(self, path: Path) -> None:
        """Open or create the file."""
        self.db = Database(path, migrations("state"))
        self._decoder = msgspec.json.Decoder(AnchorPrior)

    def put_priors(self, updates: Iterable[AnchorPrior | Withdrawn]) -> int:
        """Write priors in one transaction, never over a newer one, and return how many were written."""
        known = list(updates)

        def change(db: apsw.Connection) -> int:
            before = db.total_changes()
            db.executemany(
                "INSERT INTO anchor_priors VALUES (?, ?, 0, ?) ON CONFLICT (anchor) DO UPDATE SET "
                "as_of_ms = excluded.as_of_ms, is_withdrawn = 0, value = excluded.value "
                "WHERE excluded.as_of_ms >= anchor_priors.as_of_ms",
                [(p.anchor, epoch_ms(p.as_of), _encode(p)) for p in known if isinstance(p, AnchorPrior)],
            )
            db.executemany(
                "UPDATE anchor_priors SET is_withdrawn = 1 WHERE anchor = ? AND NOT is_withdrawn",
                [(update.anchor,) for update in known if isinstance(update, Withdrawn)],
            )
            written = db.total_changes() - before
            db.execute(
                "INSERT INTO watermarks SELECT ?, max(as_of_ms) FROM anchor_priors WHERE true HAVING max(as_of_ms) > 0 "
                "ON CONFLICT (name) DO UPDATE SET value_ms = max(value_ms, excluded.value_ms)",
                (PRIORS_WATERMARK,),
            )
            return written

        return self.db.write(change) if known else 0

    def priors(self, anchors: Sequence[str]) -> tuple[dict[str, AnchorPrior], datetime | None]:
        """Return the priors of some anchors and the instant that all priors are of; null when none were applied."""
        with self.db.read() as db:
            found = rows(
                db,
                "SELECT anchor, value FROM anchor_priors WHERE NOT is_withdrawn "
                "AND anchor IN (SELECT value FROM json_each(?))",
                (msgspec.json.encode(list(anchors)).decode(),),
            )
            mark = rows(db, "SELECT value_ms FROM watermarks WHERE name = ?", (PRIORS_WATERMARK,))
        priors = {anchor: self._decoder.decode(value) for anchor, value in found}
        return priors, from_epoch_ms(mark[0][0] if mark else None)

    def walks(self, sources: Collection[str]) -> dict[tuple[str, str], list[datetime]]:
        """Return when agents went from each of these documents to the next, by (source, target)."""
        walked: dict[tuple[str, str], list[datetime]] = {}
        for source, prior in self.priors(list(sources))[0].items():
            for way in prior.walked:
                walked.setdefault((source, way.target), []).append(way.at)
        return walked

    def see(self, anchors: Iterable[str], now: datetime) -> None:
        """Remember when anchors were first indexed; an anchor that was seen before keeps its instant."""
        seen = [(anchor, epoch_ms(now)) for anchor in anchors]
        if seen:
            self.db.write(lambda db: db.executemany("INSERT OR IGNORE INTO first_seen VALUES (?, ?)", seen))

    def first_seen(self) -> dict[str, datetime]:
        """Return when each anchor was first indexed."""
        with self.db.read() as db:
            found = rows(db, "SELECT anchor, first_indexed_ms FROM first_seen")
        return {anchor: when for anchor, ms in found if (when := from_epoch_ms(ms)) is not None}

    def flag(self, causes: Mapping[str, Sequence[str]], now: datetime) -> None:
        """Mark documents to look at again, each with the anchors that changed under it."""
        marks = [
            (anchor, cause, f"{cause} changed", epoch_ms(now)) for anchor, found in causes.items() for cause in found
        ]
        if marks:
            self.db.write(lambda db: db.executemany("INSERT OR IGNORE INTO review_flags VALUES (?, ?, ?, ?)", marks))

    def unflag(self, anchors: Iterable[str]) -> None:
        """Take the marks off documents that were looked at."""
        seen = [(anchor,) for anchor in anchors]
        if seen:
            self.db.write(lambda db: db.executemany("DELETE FROM review_flags WHERE anchor = ?", seen))

    def flags(self, anchors: Sequence[str] | None = None) -> dict[str, tuple[str, ...]]:
        """Return the reasons to look again, by anchor; of all anchors, or of some."""
        wanted = None if anchors is None else msgspec.json.encode(list(anchors)).decode()
        with self.db.read() as db:
            flagged = rows(
                db,
                "SELECT anchor, reason FROM review_flags "
                "WHERE ?1 IS NULL OR anchor IN (SELECT value FROM json_each(?1)) ORDER BY anchor, since_ms, cause",
                (wanted,),
            )
        found: dict[str, tuple[str, ...]] = {}
        for anchor, reason in flagged:
            found[anchor] = (*found.get(anchor, ()), reason)
        return found

    def add_edge(self, edge: Edge, now: datetime) -> None:
        """Remember an edge that was stated by hand."""
        values = (edge.source, edge.relation, edge.target, epoch_ms(now))
        self.db.write(lambda db: db.execute("INSERT OR IGNORE INTO manual_edges VALUES (?, ?, ?, ?)", values).close())

    def manual_edges(self) -> list[Edge]:
        """Return the edges that were stated by hand."""
        with self.db.read() as db:
            found = rows(db, "SELECT source, relation, target FROM manual_edges ORDER BY created_ms, source, target")
        return [Edge(source=s, relation=r, target=t, provenance="manual") for s, r, t in found]

    def retain(self, memory_id: str, content: str, tags: Sequence[str], source: str, now: datetime) -> int:
        """Remember a text and return how often it has been asked for; the same text is one memory."""
        values = (memory_id, content, json.dumps(list(tags), ensure_ascii=False), source, epoch_ms(now))

        def change(db: apsw.Connection) -> int:
            db.execute(
                "INSERT INTO retained VALUES (?1, ?2, ?3, ?4, 1, ?5, ?5) ON CONFLICT (id) DO UPDATE SET "
                "support = support + 1, last_ms = excluded.last_ms",
                values,
            )
            return int(rows(db, "SELECT support FROM retained WHERE id = ?", (memory_id,))[0][0])

        return self.db.write(change)

    def retained(self) -> list[tuple[str, str, tuple[str, ...], datetime]]:
        """Return (id, content, tags, when last asked for) of everything retained, oldest first."""
        with self.db.read() as db:
            found = rows(db, "SELECT id, content, tags, last_ms FROM retained ORDER BY first_ms, id")
        return [(i, c, tuple(json.loads(t)), from_epoch_ms(ms) or _EPOCH) for i, c, t, ms in found]

    def register_root(self, root: str, now: datetime) -> None:
        """Remember a folder, so that a lost index can be made again."""
        self.db.write(lambda db: db.execute("INSERT OR IGNORE INTO roots VALUES (?, ?)", (root, epoch_ms(now))).close())

    def roots(self) -> list[str]:
        """Return the registered folders, oldest first."""
        with self.db.read() as db:
            return [str(row[0]) for row in db.execute("SELECT root FROM roots ORDER BY registered_ms, root")]

    def close(self) -> None:
        """Close the file."""
        self.db.close()


def _encode(prior: AnchorPrior) -> str:
    return msgspec.json.encode(prior).decode()
