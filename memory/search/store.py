"""What search reads from index.sqlite: ranked legs, pins, rows. Filters stand inside every query, before its cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import apsw
import msgspec

from memory.anchors import anchor_key
from memory.index.client import rows
from memory.index.store import PASSAGE_COLUMNS, passage_of
from memory.model import Passage
from memory.search.filters import Condition, epoch_ms
from memory.search.query import Query, quote
from memory.search.relax import Match, all_terms, any_term, ordered, two_terms

DOC_WEIGHTS = (8.0, 2.0, 4.0)
"""bm25 weights of title, summary, keywords. Source: facts on 91 known-item queries, ADR 0502."""
PASSAGE_WEIGHTS = (2.0, 1.0)
"""bm25 weights of heading, text."""

MAX_POOL = 200
"""Results of the loose query that are sorted into tiers."""

COMMON_SHARE = 0.05
COMMON_MIN_ROWS = 5000
"""Terms that more than this share of a table of at least so many rows holds are left out of the loose query."""

ENOUGH = 0.25
"""Share of the pool, one page, that tighter matches have to fill before looser ones are left out."""

MAX_TITLE_PINS = 3
MAX_TITLE_TERMS = 4


class DocRow(msgspec.Struct, frozen=True):
    """One document as search shows it; lists stay JSON until somebody looks at them."""

    id: int
    anchor: str
    kind: str
    status: str
    title: str
    summary: str
    path: str
    authority: str
    updated_ms: int | None
    superseded_by: str | None
    head: str | None
    is_demoted: bool
    is_archived: bool
    origin: str
    keywords_json: str = "[]"
    source_ids_json: str = "[]"
    topics_json: str = "[]"

    @property
    def keywords(self) -> tuple[str, ...]:
        """Topics, ids and headings."""
        return tuple(json.loads(self.keywords_json))

    @property
    def source_ids(self) -> tuple[str, ...]:
        """Threads and messages it came from."""
        return tuple(json.loads(self.source_ids_json))

    @property
    def topics(self) -> tuple[str, ...]:
        """What its author declared it to be about."""
        return tuple(json.loads(self.topics_json))

    @property
    def file(self) -> str:
        """Where an agent opens it: the absolute path of its file; empty for documents that are no files."""
        return f"{self.origin.removeprefix('files:')}/{self.path}" if self.path else ""


@dataclass(frozen=True, slots=True)
class _Leg:
    """One full text table: how its rows are ranked, and how they lead to documents."""

    table: str
    weights: tuple[float, ...]
    joined: str
    """The tables from a row to its document `d`."""
    key: str
    """The row's id in them."""

    def nearest(self) -> str:
        """Return the query that ranks without looking at documents: FTS5 keeps only the best in its own sorter."""
        weights = ", ".join(map(str, self.weights))
        return (
            f"SELECT rowid FROM {self.table} WHERE {self.table} MATCH ? AND rank MATCH 'bm25({weights})' "
            "ORDER BY rank LIMIT ?"
        )

    def allowed(self, where: Condition) -> str:
        """Return the query that keeps those of some rows that satisfy a condition."""
        return (
            f"SELECT {self.key} FROM {self.joined} WHERE {self.key} IN (SELECT value FROM json_each(?)) AND {where.sql}"
        )

    def filtered(self, where: Condition) -> str:
        """Return the query that ranks only what satisfies a condition."""
        weights = ", ".join(map(str, self.weights))
        return (
            f"SELECT {self.key} FROM {self.table} CROSS JOIN {self.joined} WHERE {self.key} = {self.table}.rowid "
            f"AND {self.table} MATCH ? AND {where.sql} ORDER BY bm25({self.table}, {weights}) LIMIT ?"
        )


_DOCS = _Leg("docs_fts", DOC_WEIGHTS, "docs AS d", "d.id")
_PASSAGES = _Leg("passages_fts", PASSAGE_WEIGHTS, "passages AS p JOIN docs AS d ON d.id = p.doc_id", "p.id")


def doc_leg(db: apsw.Connection, query: Query, where: Condition, limit: int) -> list[Match]:
    """Return documents by full text over title, summary and keywords, best first."""
    return _tiers(db, query, _DOCS, where, limit)


def passage_leg(db: apsw.Connection, query: Query, where: Condition, limit: int) -> list[Match]:
    """Return passage rows by full text over headings and text, best first."""
    return _tiers(db, query, _PASSAGES, where, limit)


def _tiers(db: apsw.Connection, query: Query, leg: _Leg, where: Condition, limit: int) -> list[Match]:
    """Fill up to `limit`: what holds every term first, then the rest by how much it holds.

    Ranking a row costs ten times what finding it does, and a common term finds thousands that hold nothing else: they
    are only asked for when what holds two terms does not fill the page.
    """
    if not query.terms:
        return []
    full = _ranked(db, leg, all_terms(query), where, limit)
    if len(full) >= limit * ENOUGH or len(query.terms) == 1:
        return [Match(row, "and", len(query.terms)) for row in full]
    pairs, pool = two_terms(query), max(limit, MAX_POOL)
    ranked = list(dict.fromkeys([*full, *(_ranked(db, leg, pairs, where, pool) if pairs else ())]))
    if len(ranked) < limit * ENOUGH:
        ranked = list(dict.fromkeys([*ranked, *_ranked(db, leg, any_term(_telling(db, query, leg)), where, pool)]))
    return ordered(query, ranked, _matched(db, query, leg.table, ranked))[:limit]


def _telling(db: apsw.Connection, query: Query, leg: _Leg) -> Query:
    """Return the query without terms that a large part of a large table holds, unless no other is left.

    They cost most of the ranking and decide nothing of it (measured: the top ten stay 98 % the same at this bound).
    """
    total = int(rows(db, f"SELECT count(*) FROM (SELECT 1 FROM {leg.table}_docsize LIMIT {COMMON_MIN_ROWS})")[0][0])
    if total < COMMON_MIN_ROWS:
        return query
    bound = int(rows(db, f"SELECT max(id) FROM {leg.table}_docsize")[0][0] * COMMON_SHARE)
    sql = f"SELECT count(*) FROM (SELECT 1 FROM {leg.table} WHERE {leg.table} MATCH ? LIMIT {bound + 1})"
    kept = tuple(term for term in query.terms if term.is_strong or int(rows(db, sql, (term.match(),))[0][0]) <= bound)
    return replace(query, terms=kept) if kept else query


def _ranked(db: apsw.Connection, leg: _Leg, expression: str, where: Condition, limit: int) -> list[int]:
    """Return the best rows that satisfy a condition; filters stand before the cut.

    A condition that leaves out little is tried on the best rows first, which spares a look at every match; when too
    few of them are left, all matches are filtered.
    """
    if where.is_narrow:
        return [int(row[0]) for row in rows(db, leg.filtered(where), (expression, *where.values, limit))]
    best = [int(row[0]) for row in rows(db, leg.nearest(), (expression, 2 * limit))]
    kept = {int(row[0]) for row in rows(db, leg.allowed(where), (json.dumps(best), *where.values))}
    found = [row for row in best if row in kept]
    if len(found) >= limit or len(best) < 2 * limit:
        return found[:limit]
    return [int(row[0]) for row in rows(db, leg.filtered(where), (expression, *where.values, limit))]


def _matched(db: apsw.Connection, query: Query, table: str, ids: Sequence[int]) -> dict[int, list[int]]:
    """Return which terms, by position, each row holds: one pass over the terms' own lists, without ranking."""
    parts = " UNION ALL ".join(
        f"SELECT {position}, rowid FROM {table} WHERE {table} MATCH ?{position + 2}"
        f" AND +rowid IN (SELECT value FROM json_each(?1))"
        for position in range(len(query.terms))
    )
    found: dict[int, list[int]] = {}
    values = (json.dumps(list(ids)), *(term.match() for term in query.terms))
    for position, row in rows(db, parts, values):
        found.setdefault(int(row), []).append(int(position))
    return found


def by_keys(db: apsw.Connection, keys: Iterable[str], where: Condition | None = None) -> list[int]:
    """Return documents by the keys of their anchors or aliases, own anchors first, in the order of the keys."""
    condition, values = ("1", ()) if where is None else (where.sql, where.values)
    found: list[int] = []
    for key in keys:
        matches = rows(
            db,
            f"SELECT d.id FROM aliases AS a JOIN docs AS d ON d.id = a.doc_id WHERE a.key = ? AND {condition} "
            "ORDER BY a.is_own DESC, d.is_archived, d.anchor",
            (key, *values),
        )
        found += [int(row[0]) for row in matches]
    return list(dict.fromkeys(found))


def title_pins(db: apsw.Connection, query: Query, where: Condition) -> list[int]:
    """Return live documents whose title holds a short query word for word; none when more than a few do."""
    if not query.terms or len(query.terms) > MAX_TITLE_TERMS or not query.text.strip():
        return []
    phrase = "title : " + " AND title : ".join(quote(term.phrases[0]) for term in query.terms if not term.is_prefix)
    if any(term.is_prefix for term in query.terms):
        return []
    found = rows(
        db,
        "SELECT d.id FROM docs_fts JOIN docs AS d ON d.id = docs_fts.rowid "
        f"WHERE docs_fts MATCH ? AND {where.sql} AND NOT d.is_demoted "
        f"ORDER BY bm25(docs_fts, {DOC_WEIGHTS[0]}, 0.0, 0.0) LIMIT ?",
        (phrase, *where.values, MAX_TITLE_PINS + 1),
    )
    return [int(row[0]) for row in found] if len(found) <= MAX_TITLE_PINS else []


def documents(db: apsw.Connection, ids: Sequence[int]) -> dict[int, DocRow]:
    """Return rows by id; what is not in the index is not in the result."""
    found = rows(
        db,
        "SELECT id, anchor, kind, status, title, summary, path, authority, updated_ms, superseded_by, head, "
        "is_demoted, is_archived, origin, keywords, source_ids, topics FROM docs "
        "WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return {int(row[0]): DocRow(*row) for row in found}


def passages(db: apsw.Connection, ids: Sequence[int]) -> dict[int, tuple[int, Passage]]:
    """Return (document, passage) by passage row."""
    found = rows(
        db,
        f"SELECT p.id, p.doc_id, {PASSAGE_COLUMNS} FROM passages AS p WHERE p.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return {int(row[0]): (int(row[1]), passage_of(row[2:])) for row in found}


def owners(db: apsw.Connection, ids: Sequence[int]) -> dict[int, int]:
    """Return the document of each passage row."""
    found = rows(
        db, "SELECT id, doc_id FROM passages WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
    )
    return {int(row): int(doc) for row, doc in found}


def context_of(db: apsw.Connection, doc_id: int, position: int, window: int) -> list[Passage]:
    """Return up to `window` passages on each side of a position, in order, without the one that stands there."""
    sides = [
        rows(
            db,
            f"SELECT {PASSAGE_COLUMNS} FROM passages AS p WHERE p.doc_id = ? AND p.position {side} ? "
            f"ORDER BY p.position {order} LIMIT ?",
            (doc_id, position, window),
        )
        for side, order in (("<", "DESC"), (">", "ASC"))
    ]
    return [passage_of(row) for row in (*reversed(sides[0]), *sides[1])]


def recent(db: apsw.Connection, since: datetime, kinds: Sequence[str] | None, limit: int) -> list[DocRow]:
    """Return documents whose content changed since then, newest first; `kinds` null means all."""
    found = rows(
        db,
        "SELECT id FROM docs WHERE updated_ms >= ?1 AND kind <> 'pack-knowledge' "
        "AND (?2 IS NULL OR kind IN (SELECT value FROM json_each(?2))) ORDER BY updated_ms DESC, anchor LIMIT ?3",
        (epoch_ms(since), None if kinds is None else json.dumps(list(kinds)), limit),
    )
    ids = [int(row[0]) for row in found]
    known = documents(db, ids)
    return [known[key] for key in ids]


def known_anchor(db: apsw.Connection, spelling: str) -> str | None:
    """Return the anchor that a spelling means, or null."""
    found = rows(
        db,
        "SELECT d.anchor FROM aliases AS a JOIN docs AS d ON d.id = a.doc_id WHERE a.key = ? "
        "ORDER BY a.is_own DESC, d.is_archived, d.anchor LIMIT 1",
        (anchor_key(spelling),),
    )
    return str(found[0][0]) if found else None
