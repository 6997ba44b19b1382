"""What search reads from index.sqlite: ranked legs, pins, rows. Filters stand inside every query, before its cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw

from memory.anchors import anchor_key
from memory.index.client import rows
from memory.index.store import PASSAGE_COLUMNS, passage_of
from memory.model import Passage
from memory.search.filters import Condition, epoch_ms
from memory.search.query import Query, quote
from memory.search.relax import Match, all_terms, any_term, ordered

DOC_WEIGHTS = (8.0, 2.0, 4.0)
"""bm25 weights of title, summary, keywords. Source: facts on 91 known-item queries, ADR 0502."""
PASSAGE_WEIGHTS = (2.0, 1.0)
"""bm25 weights of heading, text."""

MAX_POOL = 200
"""Results of the loose query that are sorted into tiers."""

MAX_TITLE_PINS = 3
MAX_TITLE_TERMS = 4


@dataclass(frozen=True, slots=True)
class DocRow:
    """One document as search shows it."""

    id: int
    anchor: str
    kind: str
    status: str
    title: str
    summary: str
    keywords: tuple[str, ...]
    path: str
    authority: str
    updated_ms: int | None
    superseded_by: str | None
    head: str | None
    is_demoted: bool
    is_archived: bool
    source_ids: tuple[str, ...]
    origin: str
    topics: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """Where an agent opens it: the absolute path of its file; empty for documents that are no files."""
        return f"{self.origin.removeprefix('files:')}/{self.path}" if self.path else ""


def doc_leg(db: apsw.Connection, query: Query, where: Condition, limit: int) -> list[Match]:
    """Return documents by full text over title, summary and keywords, best first."""
    weights = ", ".join(str(weight) for weight in DOC_WEIGHTS)
    sql = (
        f"SELECT d.id, bm25(docs_fts, {weights}) AS score FROM docs_fts JOIN docs AS d ON d.id = docs_fts.rowid "
        f"WHERE docs_fts MATCH ? AND {where.sql} ORDER BY score LIMIT ?"
    )
    return _tiers(db, query, "docs_fts", sql, where, limit)


def passage_leg(db: apsw.Connection, query: Query, where: Condition, limit: int) -> list[Match]:
    """Return passage rows by full text over headings and text, best first."""
    weights = ", ".join(str(weight) for weight in PASSAGE_WEIGHTS)
    sql = (
        f"SELECT p.id, bm25(passages_fts, {weights}) AS score FROM passages_fts "
        "JOIN passages AS p ON p.id = passages_fts.rowid JOIN docs AS d ON d.id = p.doc_id "
        f"WHERE passages_fts MATCH ? AND {where.sql} ORDER BY score LIMIT ?"
    )
    return _tiers(db, query, "passages_fts", sql, where, limit)


def _tiers(db: apsw.Connection, query: Query, table: str, sql: str, where: Condition, limit: int) -> list[Match]:
    """Fill up to `limit`: what holds every term first, then the rest by how much it holds."""
    if not query.terms:
        return []
    full = [int(row[0]) for row in rows(db, sql, (all_terms(query), *where.values, limit))]
    if len(full) >= limit or len(query.terms) == 1:
        return [Match(row, "and", len(query.terms)) for row in full]
    loose = [int(row[0]) for row in rows(db, sql, (any_term(query), *where.values, max(limit, MAX_POOL)))]
    ranked = list(dict.fromkeys([*full, *loose]))
    return ordered(query, ranked, _matched(db, query, table, ranked))[:limit]


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
        "SELECT id, anchor, kind, status, title, summary, keywords, path, authority, updated_ms, superseded_by, head, "
        "is_demoted, is_archived, source_ids, origin, topics FROM docs WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return {int(row[0]): _doc_row(row) for row in found}


def _doc_row(row: Sequence[Any]) -> DocRow:
    key, anchor, kind, status, title, summary, keywords, path, authority, updated, *rest = row
    by, head, demoted, archived, ids, origin, topics = rest
    return DocRow(
        id=key,
        anchor=anchor,
        kind=kind,
        status=status,
        title=title,
        summary=summary,
        keywords=tuple(json.loads(keywords)),
        path=path,
        authority=authority,
        updated_ms=updated,
        superseded_by=by,
        head=head,
        is_demoted=bool(demoted),
        is_archived=bool(archived),
        source_ids=tuple(json.loads(ids)),
        origin=origin,
        topics=tuple(json.loads(topics)),
    )


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
