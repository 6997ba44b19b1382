"""The rows of index.sqlite: documents written and removed whole, in the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from memory.anchors import anchor_key
from memory.graph.edges import Succession, declared, succession
from memory.index.builder import (
    Difference,
    alias_keys,
    as_json,
    doc_text,
    is_demoted,
    keyword_keys,
    passage_text,
)
from memory.index.client import rows
from memory.index.segment import SEGMENTER_VERSION
from memory.model import Document, Edge, FileReport, Passage
from memory.search.filters import epoch_ms, from_epoch_ms
from streams.events import DocumentIndexed

_INSERT_DOC = """
INSERT INTO docs (anchor, origin, kind, status, title, summary, keywords, path, authority, updated_ms, indexed_ms,
    superseded_by, is_demoted, is_archived, source_ids, materialized_from, tier, text_hash, fts_hash, topics)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
"""
_INSERT_PASSAGE = """
INSERT INTO passages (doc_id, passage_id, position, heading_path, text, start_line, end_line, speaker, created_ms,
    thread_id, message_id, session_id, fts_hash)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
"""


def apply(db: apsw.Connection, change: Difference, *, origin: str, now: datetime) -> None:
    """Write a difference: what is removed first, so that a freed anchor can be taken by another document."""
    for anchor in change.removed:
        remove(db, anchor)
    for document in change.changed:
        remove(db, document.anchor)
    for document in (*change.added, *change.changed):
        insert(db, document, origin=origin, now=now)
    follow_successions(db)


def remove(db: apsw.Connection, anchor: str) -> None:
    """Delete a document with its full text, passages, aliases and the edges that it states."""
    for (doc_id,) in db.execute("SELECT id FROM docs WHERE anchor = ?", (anchor,)).fetchall():
        db.execute("DELETE FROM passages_fts WHERE rowid IN (SELECT id FROM passages WHERE doc_id = ?)", (doc_id,))
        db.execute("DELETE FROM docs_fts WHERE rowid = ?", (doc_id,))
        db.execute("DELETE FROM docs WHERE id = ?", (doc_id,))
        db.execute("DELETE FROM edges WHERE owner = ?", (anchor,))


def insert(db: apsw.Connection, document: Document, *, origin: str, now: datetime) -> int:
    """Write a document that is not in the index and return its row id."""
    d = document
    text = doc_text(anchor=d.anchor, title=d.title, summary=d.summary, keywords=d.keywords, path=d.path)
    demoted = is_demoted(status=d.status, superseded_by=d.superseded_by, authority=d.authority)
    row = (
        *(d.anchor, origin, d.kind, d.status, d.title, d.summary, as_json(d.keywords), d.path, d.authority),
        *(None if d.updated_at is None else epoch_ms(d.updated_at), epoch_ms(now), d.superseded_by),
        *(int(demoted), int(d.is_archived), as_json(d.source_ids), d.materialized_from, d.tier, d.text_hash),
        text.digest,
        as_json(d.topics),
    )
    doc_id = int(rows(db, _INSERT_DOC, row)[0][0])
    db.execute("INSERT INTO docs_fts (rowid, title, summary, keywords) VALUES (?, ?, ?, ?)",
               (doc_id, text.title, text.summary, text.keywords))  # fmt: skip
    db.executemany("INSERT INTO aliases VALUES (?, ?, ?)", [(k, doc_id, int(own)) for k, own in alias_keys(d).items()])
    db.executemany("INSERT INTO doc_keywords VALUES (?, ?)", [(key, doc_id) for key in keyword_keys(d)])
    insert_passages(db, doc_id, d.passages)
    add_edges(db, d.anchor, (*declared(d), *d.links))
    return doc_id


def insert_passages(db: apsw.Connection, doc_id: int, passages: Iterable[Passage]) -> None:
    """Write passages of a document; ids that it already has are left as they are."""
    for p in passages:
        text = passage_text(p)
        row = (
            *(doc_id, p.passage_id, p.position, as_json(p.heading_path), p.text, p.start_line, p.end_line, p.speaker),
            *(None if p.created_at is None else epoch_ms(p.created_at), p.thread_id, p.message_id, p.session_id),
            text.digest,
        )
        passage_row = int(rows(db, _INSERT_PASSAGE, row)[0][0])
        db.execute("INSERT INTO passages_fts (rowid, heading, text) VALUES (?, ?, ?)",
                   (passage_row, text.heading, text.text))  # fmt: skip


def add_edges(db: apsw.Connection, owner: str, edges: Iterable[Edge]) -> None:
    """Write the edges that a document states."""
    db.executemany(
        "INSERT OR IGNORE INTO edges VALUES (?, ?, ?, ?, ?, ?)",
        [
            (owner, e.source, e.relation, e.target, anchor_key(e.target), e.provenance)
            for e in edges
            if e.source != e.target
        ],
    )


def edges_where(db: apsw.Connection, condition: str, values: Sequence[str] = ()) -> list[Edge]:
    """Return edges with both ends as the anchors of documents where there are such, sorted, each once.

    A link to a file that is no document leads nowhere and is left out.
    """
    stated = rows(
        db,
        f"""
        SELECT DISTINCT coalesce(s.anchor, e.source), e.relation, coalesce(t.anchor, e.target), e.provenance
        FROM edges AS e
        LEFT JOIN aliases AS ta ON ta.key = e.target_key LEFT JOIN docs AS t ON t.id = ta.doc_id
        LEFT JOIN docs AS s ON s.anchor = e.source
        WHERE (e.relation <> 'doc_link' OR t.id IS NOT NULL) AND ({condition})
        """,
        tuple(values),
    )
    found = {Edge(source=s, relation=r, target=t, provenance=p) for s, r, t, p in stated if s != t}
    return sorted(found)


def edges_of(db: apsw.Connection, anchor: str) -> list[Edge]:
    """Return the edges that begin or end at a document."""
    return edges_where(
        db,
        "e.source = ?1 OR e.target_key IN "
        "(SELECT a.key FROM aliases AS a JOIN docs AS d ON d.id = a.doc_id WHERE d.anchor = ?1)",
        (anchor,),
    )


def edges_to(db: apsw.Connection, anchors: Sequence[str]) -> list[Edge]:
    """Return the edges that end at some documents."""
    return edges_where(
        db,
        "e.target_key IN (SELECT a.key FROM aliases AS a JOIN docs AS d ON d.id = a.doc_id "
        "WHERE d.anchor IN (SELECT value FROM json_each(?1)))",
        (as_json(anchors),),
    )


def follow_successions(db: apsw.Connection) -> Succession:
    """Close `supersedes` both ways: every replaced document knows its successor and the head of its chain."""
    found = succession(edges_where(db, "e.relation = 'supersedes'"))
    touched = rows(
        db,
        "SELECT id, anchor, superseded_by, head, is_demoted, status, authority FROM docs "
        "WHERE superseded_by IS NOT NULL OR anchor IN (SELECT value FROM json_each(?))",
        (as_json(list(found.successor)),),
    )
    for doc_id, anchor, stated, head, demoted, status, authority in touched:
        successor = found.successor.get(anchor)
        newest = found.head(anchor)
        stands_behind = int(is_demoted(status=status, superseded_by=successor, authority=authority))
        if (successor, newest, stands_behind) != (stated, head, demoted):
            db.execute("UPDATE docs SET superseded_by = ?, head = ?, is_demoted = ? WHERE id = ?",
                       (successor, newest, stands_behind, doc_id))  # fmt: skip
    return found


def clear(db: apsw.Connection) -> None:
    """Empty the index; its generation stays."""
    for table in ("docs_fts", "passages_fts"):
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
    for table in ("edges", "files", "aliases", "doc_keywords", "passages", "docs"):
        db.execute(f"DELETE FROM {table}")


def write_files(db: apsw.Connection, root: str, files: Iterable[tuple[FileReport, str, int, int]]) -> None:
    """Replace what is known of a root's files: (report, content hash, mtime, size) each."""
    db.execute("DELETE FROM files WHERE root = ?", (root,))
    add_files(db, root, files)


def add_files(db: apsw.Connection, root: str, files: Iterable[tuple[FileReport, str, int, int]]) -> None:
    """Write what is known of files that are not in the index yet."""
    db.executemany(
        "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(root, f.path, f.outcome, f.reason, digest, mtime_ns, size) for f, digest, mtime_ns, size in files],
    )


def set_meta(db: apsw.Connection, key: str, value: str | int) -> None:
    """Write one fact about the index."""
    db.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (key, str(value))
    )


def meta(db: apsw.Connection, key: str) -> str | None:
    """Return one fact about the index."""
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def next_generation(db: apsw.Connection, now: datetime) -> int:
    """Count an index run that changed something, and return its number."""
    generation = int(meta(db, "generation") or 0) + 1
    set_meta(db, "generation", generation)
    set_meta(db, "indexed_ms", epoch_ms(now))
    set_meta(db, "segmenter_version", SEGMENTER_VERSION)
    return generation


def touch(db: apsw.Connection, now: datetime) -> None:
    """Note that the index was compared with its sources and needed no change."""
    set_meta(db, "indexed_ms", epoch_ms(now))
    set_meta(db, "segmenter_version", SEGMENTER_VERSION)


def counts(db: apsw.Connection, origin: str | None = None) -> tuple[int, int]:
    """Return the number of documents and of passages, of one origin or in all."""
    found = rows(
        db,
        "SELECT (SELECT count(*) FROM docs WHERE ?1 IS NULL OR origin = ?1), "
        "CASE WHEN ?1 IS NULL THEN (SELECT count(*) FROM passages) ELSE "
        "(SELECT count(*) FROM passages WHERE doc_id IN (SELECT id FROM docs WHERE origin = ?1)) END",
        (origin,),
    )
    return int(found[0][0]), int(found[0][1])


def published(
    db: apsw.Connection, first_seen: Mapping[str, datetime], now: datetime, wanted: Collection[str] | None
) -> list[DocumentIndexed]:
    """Return documents as the log carries them; `wanted` null means all."""
    stored = rows(
        db,
        "SELECT anchor, path, kind, authority, status, title, updated_ms, "
        "(SELECT json_group_array(key) FROM aliases AS a WHERE a.doc_id = d.id AND NOT a.is_own) "
        "FROM docs AS d ORDER BY anchor",
    )
    return [
        DocumentIndexed(
            anchor=anchor,
            path=path,
            doc_kind=kind,
            occurred_at=now,
            authority=authority,
            status=status,
            title=title,
            first_indexed_at=first_seen.get(anchor),
            updated_at=from_epoch_ms(updated),
            aliases=tuple(json.loads(aliases)),
        )
        for anchor, path, kind, authority, status, title, updated, aliases in stored
        if wanted is None or anchor in wanted
    ]


def passage_of(row: Sequence[Any]) -> Passage:
    """Return a passage from the columns of `PASSAGE_COLUMNS`."""
    passage_id, position, headings, text, start, end, speaker, created, thread, message, session = row
    return Passage(
        passage_id=passage_id,
        position=position,
        heading_path=tuple(json.loads(headings)),
        text=text,
        start_line=start,
        end_line=end,
        speaker=speaker,
        created_at=from_epoch_ms(created),
        thread_id=thread,
        message_id=message,
        session_id=session,
    )


PASSAGE_COLUMNS = (
    "p.passage_id, p.position, p.heading_path, p.text, p.start_line, p.end_line, p.speaker, p.created_ms, "
    "p.thread_id, p.message_id, p.session_id"
)
