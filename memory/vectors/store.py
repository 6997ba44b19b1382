"""Vectors in index.sqlite: what is missing is embedded in batches, what is there is searched from memory."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

import apsw
import numpy as np

from memory.embed.breaker import Breaker
from memory.embed.provider import Embedder, EmbeddingUnavailable, EmbedMode, Identity, Vectors
from memory.index.client import Database, rows
from memory.search.filters import Condition, epoch_ms
from memory.vectors.nearest import Ints, Matrix, Near, matrix, nearest
from streams.clock import Clock

BATCH = 64
MAX_UNIT_CHARS = 1500
"""Of a passage's text: what a small model still distinguishes."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A text to embed."""

    key: str
    text: str


class VectorStore:
    """The vectors of one embedder over one index; without an embedder it answers that there are none."""

    def __init__(self, db: Database, embedder: Embedder | None, mode: EmbedMode, clock: Clock) -> None:
        self._db = db
        self._embedder = embedder
        self.mode: EmbedMode = mode if embedder is not None else "off"
        self._clock = clock
        self._breaker = Breaker()
        self._lock = threading.Lock()
        self._cached: tuple[tuple[int, int, int], Matrix] | None = None
        self._space: tuple[Identity, int] | None = None

    def query_vector(self, text: str) -> Vectors:
        """Return a query's vector.

        Raises:
            EmbeddingUnavailable: when the provider is off, failed just now, or fails.
        """
        if self._embedder is None or self.mode != "on":
            raise EmbeddingUnavailable(f"embedding is {self.mode}")
        now = self._clock.now()
        if not self._breaker.allows(now):
            raise EmbeddingUnavailable(f"the provider failed and rests: {self._breaker.reason}")
        try:
            vector = self._embedder.embed([text], "query")[0]
        except EmbeddingUnavailable as error:
            self._breaker.failed(now, str(error))
            raise
        self._breaker.succeeded()
        return np.asarray(vector, dtype=np.float32)

    def search(
        self, db: apsw.Connection, query: Vectors, where: Condition, *, limit: int
    ) -> tuple[list[Near], list[Near]]:
        """Return (documents, passages) nearest to a query among those that satisfy a condition.

        Filters stand before the cut: an unselective condition is tried on the nearest first, and when it leaves too
        few, or leaves out much of the index, the vectors of all allowed documents are compared.
        """
        space = self._matrix(db)
        if not where.is_narrow:
            docs, passages = nearest(space, query, limit=2 * limit)
            known = set(_allowed(db, where, [near.doc for near in (*docs, *passages)]).tolist())
            found = [near for near in docs if near.doc in known]
            if len(found) >= limit or len(docs) < 2 * limit:
                return found[:limit], [near for near in passages if near.doc in known][:limit]
        return nearest(space, query, limit=limit, allowed=_allowed(db, where, None))

    def documents(self, db: apsw.Connection, docs: Sequence[int]) -> dict[int, Vectors]:
        """Return the vector of each of these documents that has one: the sum of its title's and its summary's."""
        space = self._matrix(db)
        found: dict[int, Vectors] = {}
        for row in np.flatnonzero(np.isin(space.docs, docs) & (space.passages == 0)).tolist():
            doc, vector = int(space.docs[row]), space.vectors[row]
            found[doc] = found[doc] + vector if doc in found else vector
        return found

    def coverage(self, db: apsw.Connection) -> tuple[int, int]:
        """Return (units with a vector, units that should have one); (0, 0) without an embedder."""
        if self._embedder is None or self.mode == "off":
            return 0, 0
        space = self._known_space(db)
        total = rows(db, "SELECT 2 * (SELECT count(*) FROM docs) + (SELECT count(*) FROM passages)")[0][0]
        if space is None:
            return 0, int(total)
        return len(self._matrix(db)), int(total)

    def embed_missing(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Embed what has no vector yet, in batches of 64, and return how many texts that were.

        Vectors of other identities stay until this one is complete; then they and those of vanished texts go.

        Raises:
            EmbeddingUnavailable: when the provider fails; what is done stays done.
        """
        if self._embedder is None or self.mode == "off":
            return 0
        space = self._make_space()
        done = 0
        with self._db.read() as db:
            missing = _missing(db, space)
        for at in range(0, len(missing), BATCH):
            keys = missing[at : at + BATCH]
            with self._db.read() as db:
                units = _texts(db, keys)
            vectors = self._embedder.embed([unit.text for unit in units], "passage")
            self._db.write(lambda db, u=units, v=vectors: _insert(db, space, u, v))  # type: ignore[misc]  # bound now
            done += len(units)
            if progress is not None:
                progress(done, len(missing))
        self._db.write(lambda db: _forget(db, space))
        return done

    def forget_cache(self) -> None:
        """Load the vectors from the file again at the next search."""
        with self._lock:
            self._cached = None

    def close(self) -> None:
        """Free the model."""
        if self._embedder is not None:
            self._embedder.close()

    def _make_space(self) -> int:
        if self._embedder is None:
            raise EmbeddingUnavailable("embedding is off")
        identity = self._embedder.identity
        if self._space is None or self._space[0] != identity:
            now = self._clock.now()
            self._space = (identity, self._db.write(lambda db: _create_space(db, identity, now)))
        return self._space[1]

    def _known_space(self, db: apsw.Connection) -> int | None:
        if self._space is not None:
            return self._space[1]
        if self._embedder is None:
            return None
        identity = self._embedder.identity
        found = rows(db, "SELECT id FROM spaces WHERE identity = ?", (_key(identity),))
        if found:
            self._space = (identity, int(found[0][0]))
        return int(found[0][0]) if found else None

    def _matrix(self, db: apsw.Connection) -> Matrix:
        """Return the vectors that stand for something in this snapshot; loaded again only when something changed."""
        space = self._known_space(db)
        if space is None:
            return matrix(np.zeros((0, 1), np.float32), np.zeros(0, np.int64), np.zeros(0, np.int64))
        state = rows(
            db,
            "SELECT coalesce((SELECT max(id) FROM vector_keys), 0), "
            "coalesce((SELECT value FROM meta WHERE key = 'generation'), 0)",
        )[0]
        version = (space, int(state[0]), int(state[1]))
        with self._lock:
            if self._cached is None or self._cached[0] != version:
                self._cached = (version, _load(db, space))
            return self._cached[1]


def _key(identity: Identity) -> str:
    return json.dumps(asdict(identity), sort_keys=True)


def _create_space(db: apsw.Connection, identity: Identity, now: datetime) -> int:
    found = rows(db, "SELECT id FROM spaces WHERE identity = ?", (_key(identity),))
    if found:
        return int(found[0][0])
    db.execute("INSERT INTO spaces (identity, dim, created_ms) VALUES (?, ?, ?)",
               (_key(identity), identity.dim, epoch_ms(now)))  # fmt: skip
    space = int(db.last_insert_rowid())
    db.execute(f"CREATE VIRTUAL TABLE vectors_{space} USING vec0(embedding float[{int(identity.dim)}])")
    return space


def _missing(db: apsw.Connection, space: int) -> list[str]:
    found = rows(
        db,
        "SELECT DISTINCT u.key FROM units AS u WHERE NOT EXISTS "
        "(SELECT 1 FROM vector_keys AS k WHERE k.space = ? AND k.key = u.key)",
        (space,),
    )
    return [str(row[0]) for row in found]


def _texts(db: apsw.Connection, keys: Sequence[str]) -> list[Unit]:
    """Return the texts behind keys; what has vanished since is left out."""
    wanted = json.dumps([key[2:] for key in keys])
    docs = rows(
        db, "SELECT fts_hash, title, summary FROM docs WHERE fts_hash IN (SELECT value FROM json_each(?))", (wanted,)
    )
    passages = rows(
        db,
        "SELECT fts_hash, heading_path, text FROM passages WHERE fts_hash IN (SELECT value FROM json_each(?))",
        (wanted,),
    )
    texts = {f"t:{digest}": title for digest, title, _ in docs}
    texts |= {f"d:{digest}": f"{title}\n{summary}".strip() for digest, title, summary in docs}
    texts |= {f"p:{digest}": " / ".join([*json.loads(path), text])[:MAX_UNIT_CHARS] for digest, path, text in passages}
    return [Unit(key, texts[key]) for key in keys if key in texts]


def _insert(db: apsw.Connection, space: int, units: Sequence[Unit], vectors: Vectors) -> None:
    for unit, vector in zip(units, vectors, strict=True):
        db.execute("INSERT OR IGNORE INTO vector_keys (space, key) VALUES (?, ?)", (space, unit.key))
        if db.changes():
            db.execute(f"INSERT INTO vectors_{space} (rowid, embedding) VALUES (?, ?)",
                       (db.last_insert_rowid(), vector.tobytes()))  # fmt: skip


def _forget(db: apsw.Connection, space: int) -> None:
    """Drop the spaces of other identities, and vectors whose text is gone."""
    for (other,) in rows(db, "SELECT id FROM spaces WHERE id <> ?", (space,)):
        db.execute(f"DROP TABLE IF EXISTS vectors_{other}")
        db.execute("DELETE FROM vector_keys WHERE space = ?", (other,))
        db.execute("DELETE FROM spaces WHERE id = ?", (other,))
    gone = rows(db, "SELECT id FROM vector_keys WHERE space = ? AND key NOT IN (SELECT key FROM units)", (space,))
    for (key,) in gone:
        db.execute(f"DELETE FROM vectors_{space} WHERE rowid = ?", (key,))
        db.execute("DELETE FROM vector_keys WHERE id = ?", (key,))


def _load(db: apsw.Connection, space: int) -> Matrix:
    stored = rows(db, f"SELECT rowid, embedding FROM vectors_{space} ORDER BY rowid")
    if not stored:
        return matrix(np.zeros((0, 1), np.float32), np.zeros(0, np.int64), np.zeros(0, np.int64))
    ids = np.fromiter((row[0] for row in stored), dtype=np.int64, count=len(stored))
    data = np.frombuffer(b"".join(row[1] for row in stored), dtype=np.float32).reshape(len(stored), -1)
    units = rows(
        db,
        "SELECT k.id, u.doc_id, u.passage FROM units AS u JOIN vector_keys AS k ON k.space = ? AND k.key = u.key",
        (space,),
    )
    links = np.array(units, dtype=np.int64).reshape(-1, 3)
    places = np.searchsorted(ids, links[:, 0])
    return matrix(np.ascontiguousarray(data[places]), links[:, 1].copy(), links[:, 2].copy())


def _allowed(db: apsw.Connection, where: Condition, ids: Sequence[int] | None) -> Ints:
    if ids is None:
        found = rows(db, f"SELECT d.id FROM docs AS d WHERE {where.sql}", where.values)
    else:
        found = rows(
            db,
            f"SELECT d.id FROM docs AS d WHERE d.id IN (SELECT value FROM json_each(?)) AND {where.sql}",
            (json.dumps(list(dict.fromkeys(ids))), *where.values),
        )
    return np.fromiter((row[0] for row in found), dtype=np.int64, count=len(found))
