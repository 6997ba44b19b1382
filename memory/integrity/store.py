"""Checks index.sqlite against itself and its files, with checks that can fail, and repairs what it finds.

Contentless FTS tables have no integrity check of their own: a missing or stale row passes SQLite's. So the full text
of every row is segmented again into a table in memory, and the two are compared term by term.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import apsw

from memory.graph.edges import succession
from memory.index.builder import DocText, PassageText, doc_text, passage_text
from memory.index.client import damage, rows
from memory.index.store import PASSAGE_COLUMNS, edges_where, passage_of

REPAIRED_IN_PLACE = frozenset({"fts_row_missing", "fts_row_stale", "fts_ghost_row", "orphan_vector", "vector_missing"})
REPAIRED_BY_INDEXING = frozenset({"file_missing", "file_drift"})
ADVICE = frozenset({"dangling_edge", "dangling_successor", "supersede_cycle"})
"""Faults of the documents, not of the index."""

_FTS = """CREATE VIRTUAL TABLE temp.{name} USING fts5({columns}, content='',
    tokenize="porter unicode61 remove_diacritics 2 tokenchars '_-'")"""
_SUMS = """
SELECT doc, count(*), sum((unicode(term) * 31 + length(term) * 17 + unicode(substr(term, -1))) * ("offset" + 1)
    + unicode(col)) FROM {vocab} GROUP BY doc
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong."""

    code: str
    anchor: str = ""
    """The document, file or key that it is about."""
    row: int = 0
    detail: str = ""
    related: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether the index is sound; advice about the documents does not count."""
        return all(finding.code in ADVICE for finding in self.findings)

    def of(self, code: str) -> list[Finding]:
        """Return the findings of one kind."""
        return [finding for finding in self.findings if finding.code == code]


def check(db: apsw.Connection, path: Path) -> CheckReport:
    """Return everything that is wrong with the index, and with how its documents point to each other."""
    fault = damage(path)
    found = [] if fault is None else [Finding(code="file_damaged", detail=fault)]
    return CheckReport(
        (*found, *_docs(db), *_passages(db), *_vectors(db), *_files(db), *lint(db)),
    )


def lint(db: apsw.Connection) -> list[Finding]:
    """Return where documents point to what is not there, or replace each other in a circle."""
    known = {str(row[0]) for row in rows(db, "SELECT anchor FROM docs")}
    edges = edges_where(db, "e.relation <> 'doc_link'")
    findings = [
        Finding(code="supersede_cycle", anchor=cycle[0], related=cycle, detail=" -> ".join([*cycle, cycle[0]]))
        for cycle in succession(edges).cycles
    ]
    for anchor, successor in rows(db, "SELECT anchor, superseded_by FROM docs WHERE superseded_by IS NOT NULL"):
        if successor not in known:
            findings.append(Finding(code="dangling_successor", anchor=anchor, detail=successor))
    for edge in edges:
        if edge.provenance == "frontmatter" and edge.relation != "supersedes" and edge.target not in known:
            findings.append(Finding(code="dangling_edge", anchor=edge.source, detail=f"{edge.relation} {edge.target}"))
    return findings


def _docs(db: apsw.Connection) -> list[Finding]:
    stored = rows(db, "SELECT id, anchor, title, summary, keywords, path FROM docs")
    texts = ((key, _text_of(*row)) for key, *row in stored)
    anchors = {int(row[0]): str(row[1]) for row in stored}
    return _compare(db, "docs_fts", "title, summary, keywords", anchors, ((k, _columns(t)) for k, t in texts))


def _text_of(anchor: str, title: str, summary: str, keywords: str, path: str) -> DocText:
    return doc_text(anchor=anchor, title=title, summary=summary, keywords=json.loads(keywords), path=path)


def _passages(db: apsw.Connection) -> list[Finding]:
    stored = rows(
        db, f"SELECT p.id, d.anchor, {PASSAGE_COLUMNS} FROM passages AS p LEFT JOIN docs AS d ON d.id = p.doc_id"
    )
    anchors = {int(row[0]): f"{row[1]}#{row[2]}" for row in stored}
    texts = ((int(row[0]), _columns(passage_text(passage_of(row[2:])))) for row in stored)
    orphans = [Finding(code="orphan_passage", row=int(row[0])) for row in stored if row[1] is None]
    return [*orphans, *_compare(db, "passages_fts", "heading, text", anchors, texts)]


def _columns(text: DocText | PassageText) -> tuple[str, ...]:
    return (text.title, text.summary, text.keywords) if isinstance(text, DocText) else (text.heading, text.text)


def _compare(
    db: apsw.Connection,
    table: str,
    columns: str,
    anchors: dict[int, str],
    texts: Iterable[tuple[int, tuple[str, ...]]],
) -> list[Finding]:
    """Compare a full text table with what it should hold."""
    with apsw.Connection(":memory:") as fresh:
        fresh.execute(_FTS.format(name="want", columns=columns))
        marks = ", ".join("?" * (columns.count(",") + 2))
        with fresh:
            fresh.executemany(f"INSERT INTO want (rowid, {columns}) VALUES ({marks})", ((k, *t) for k, t in texts))
        fresh.execute("CREATE VIRTUAL TABLE temp.want_terms USING fts5vocab(temp, want, instance)")
        wanted = {int(doc): (count, total) for doc, count, total in rows(fresh, _SUMS.format(vocab="want_terms"))}
    db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{table}_terms USING fts5vocab(main, {table}, instance)")
    held = {int(doc): (count, total) for doc, count, total in rows(db, _SUMS.format(vocab=f"{table}_terms"))}
    present = {int(row[0]) for row in rows(db, f"SELECT id FROM {table}_docsize")}
    return [
        *_findings("fts_row_missing", table, anchors, (key for key in anchors if key not in present)),
        *_findings("fts_ghost_row", table, anchors, (key for key in present | held.keys() if key not in anchors)),
        *_findings(
            "fts_row_stale",
            table,
            anchors,
            (key for key in anchors if key in present and held.get(key) != wanted.get(key)),
        ),
    ]


def _findings(code: str, table: str, anchors: dict[int, str], keys: Iterable[int]) -> Iterator[Finding]:
    for key in sorted(keys):
        yield Finding(code=code, anchor=anchors.get(key, ""), row=key, detail=table)


def _vectors(db: apsw.Connection) -> list[Finding]:
    findings: list[Finding] = []
    for (space,) in rows(db, "SELECT id FROM spaces"):
        keys = rows(db, "SELECT id, key, key IN (SELECT key FROM units) FROM vector_keys WHERE space = ?", (space,))
        held = {int(row[0]) for row in rows(db, f"SELECT rowid FROM vectors_{int(space)}")}
        table = f"vectors_{int(space)}"
        findings += [
            Finding(code="orphan_vector", anchor=key, row=k, detail=table) for k, key, used in keys if not used
        ]
        findings += [
            Finding(code="vector_missing", anchor=key, row=k, detail=table) for k, key, _ in keys if k not in held
        ]
        findings += [
            Finding(code="orphan_vector", row=k, detail=table) for k in sorted(held - {int(row[0]) for row in keys})
        ]
    return findings


def _files(db: apsw.Connection) -> list[Finding]:
    findings: list[Finding] = []
    for root, path, content_hash in rows(db, "SELECT root, path, content_hash FROM files WHERE outcome <> 'failed'"):
        try:
            now = hashlib.sha256((Path(root) / path).read_bytes()).hexdigest()
        except OSError:
            findings.append(Finding(code="file_missing", anchor=path, detail=root))
            continue
        if now != content_hash:
            findings.append(Finding(code="file_drift", anchor=path, detail=root))
    return findings


def repair(db: apsw.Connection, findings: Sequence[Finding]) -> int:
    """Put right what can be put right from the index itself and return how many findings that settles.

    Drift and missing files are settled by indexing their roots again.
    """
    done = 0
    for finding in findings:
        if finding.code in ("fts_row_missing", "fts_row_stale", "fts_ghost_row"):
            db.execute(f"DELETE FROM {finding.detail} WHERE rowid = ?", (finding.row,))
            _write_again(db, finding)
        elif finding.code in ("orphan_vector", "vector_missing"):
            db.execute(f"DELETE FROM {finding.detail} WHERE rowid = ?", (finding.row,))
            db.execute("DELETE FROM vector_keys WHERE id = ?", (finding.row,))
        elif finding.code == "orphan_passage":
            db.execute("DELETE FROM passages_fts WHERE rowid = ?", (finding.row,))
            db.execute("DELETE FROM passages WHERE id = ?", (finding.row,))
        else:
            continue
        done += 1
    return done


def _write_again(db: apsw.Connection, finding: Finding) -> None:
    if finding.detail == "docs_fts":
        for row in rows(db, "SELECT anchor, title, summary, keywords, path FROM docs WHERE id = ?", (finding.row,)):
            db.execute(
                "INSERT INTO docs_fts (rowid, title, summary, keywords) VALUES (?, ?, ?, ?)",
                (finding.row, *_columns(_text_of(*row))),
            )
        return
    for row in rows(db, f"SELECT {PASSAGE_COLUMNS} FROM passages AS p WHERE p.id = ?", (finding.row,)):
        db.execute(
            "INSERT INTO passages_fts (rowid, heading, text) VALUES (?, ?, ?)",
            (finding.row, *_columns(passage_text(passage_of(row)))),
        )
