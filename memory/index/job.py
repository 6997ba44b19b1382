"""One index run over a folder: read what changed, settle who owns which anchor, write the difference."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import apsw

from memory.anchors import anchor_key
from memory.graph.edges import dependents
from memory.index import store as index
from memory.index.builder import Difference, Settled, difference, settle
from memory.index.client import Database, rows
from memory.model import Document, FileReport, IndexReport
from memory.sources import collector
from memory.sources.collector import Found
from memory.sources.documents import documents, hashed
from memory.sources.manifests import MANIFESTS, manifest, tier_of

COLLISION = "shares an anchor with another file"


@dataclass(frozen=True, slots=True)
class Known:
    """A file as the last run left it."""

    digest: str
    mtime_ns: int
    size: int
    reason: str


@dataclass(slots=True)
class Reading:
    """What a run read."""

    documents: list[Document] = field(default_factory=list)
    rows: dict[str, tuple[FileReport, str, int, int]] = field(default_factory=dict)
    """Path -> (report, content hash, mtime, size)."""

    @property
    def kept(self) -> set[str]:
        """Files that were not read again: their documents stay as they are."""
        return {path for path, row in self.rows.items() if row[0].outcome == "unchanged"}


def index_folder(db: Database, root: Path, *, now: datetime, rebuild: bool = False) -> IndexReport:
    """Make the index hold a folder's documents, in one transaction: readers see the old state or the new one."""
    found, skipped = collector.walk(root)
    known = {} if rebuild else _known(db, root)
    owners = {} if rebuild else _owners(db, root)
    reading = _read(root, found, known, owners)
    settled = settle(reading.documents)
    report = db.write(lambda connection: _write(connection, root, reading, settled, now=now, rebuild=rebuild))
    files = sorted([*(row[0] for row in reading.rows.values()), *skipped], key=lambda file: file.path)
    problems = tuple(f"{d.path}: {problem}" for d in settled.documents for problem in d.problems)
    return replace(report, files=tuple(files), collisions=settled.collisions, problems=problems)


def _read(root: Path, found: list[Found], known: Mapping[str, Known], owners: Mapping[str, str]) -> Reading:
    """Read the files that changed, and those that share an anchor with one of them or with a removed one."""
    reading = Reading()
    by_path = {file.path: file for file in found}
    vanished = any(path not in by_path for path in known)
    pending = []
    for file in found:
        old = known.get(file.path)
        is_shared = old is not None and old.reason == COLLISION
        if old is not None and (old.mtime_ns, old.size) == (file.mtime_ns, file.size) and not (is_shared or vanished):
            kept = FileReport(path=file.path, outcome="unchanged", reason=old.reason)
            reading.rows[file.path] = (kept, old.digest, old.mtime_ns, old.size)
        else:
            pending.append(file)
    dates = collector.git_dates(root) if pending else {}
    while pending:
        fresh = [document for file in pending for document in _read_file(root, file, dates, reading)]
        reading.documents += fresh
        rivals = {owners.get(anchor_key(document.anchor)) for document in fresh} & reading.kept
        pending = [by_path[path] for path in sorted(path for path in rivals if path is not None)]
    return reading


def _read_file(root: Path, file: Found, dates: Mapping[str, datetime], reading: Reading) -> list[Document]:
    try:
        content = collector.read(root, file.path)
    except OSError as error:
        report = FileReport(path=file.path, outcome="failed", reason=f"cannot be read: {error.strerror}")
        reading.rows[file.path] = (report, "", 0, 0)
        return []
    mtime = datetime.fromtimestamp(file.mtime_ns // 1_000_000_000, UTC)
    split = file_documents(file.path, content.text, changed_at=dates.get(file.path, mtime))
    if content.problem is not None:
        split = [hashed(replace(split[0], problems=(*split[0].problems, content.problem))), *split[1:]]
    report = FileReport(path=file.path, outcome="indexed", reason="; ".join(split[0].problems))
    reading.rows[file.path] = (report, content.digest, file.mtime_ns, file.size)
    return split


def file_documents(path: str, text: str, *, changed_at: datetime | None = None) -> list[Document]:
    """Return the documents of one file of a repository: Markdown, or a manifest; each with its tier."""
    if PurePosixPath(path).name in MANIFESTS:
        return [hashed(replace(manifest(path, text), updated_at=changed_at))]
    found = documents(path, text, changed_at=changed_at)
    tier = tier_of(path)
    if tier == "authoritative":
        return found
    return [hashed(replace(d, tier=tier, kind="lesson" if d.kind == "plan" else d.kind)) for d in found]


def _known(db: Database, root: Path) -> dict[str, Known]:
    with db.read() as connection:
        found = connection.execute(
            "SELECT path, content_hash, mtime_ns, size, reason FROM files WHERE root = ? AND outcome <> 'failed'",
            (str(root),),
        )
        return {path: Known(digest, mtime, size, reason) for path, digest, mtime, size, reason in found}


def _owners(db: Database, root: Path) -> dict[str, str]:
    """Return the file that holds each anchor, by key."""
    with db.read() as connection:
        return dict(
            connection.execute(
                "SELECT a.key, d.path FROM aliases AS a JOIN docs AS d ON d.id = a.doc_id "
                "WHERE a.is_own AND d.origin = ?",
                (origin_of(root),),
            )
        )


def origin_of(root: Path) -> str:
    """Return the name under which a folder's documents stand in the index."""
    return f"files:{root}"


def _write(
    db: apsw.Connection, root: Path, reading: Reading, settled: Settled, *, now: datetime, rebuild: bool
) -> IndexReport:
    origin = origin_of(root)
    held = rows(db, "SELECT anchor, text_hash, path FROM docs WHERE origin = ?", (origin,))
    kept = reading.kept
    change = difference({anchor: digest for anchor, digest, path in held if path not in kept}, settled.documents)
    if rebuild:
        old = {anchor for anchor, _, _ in held}
        change = _everything(change, settled.documents, old)
    causes = {} if rebuild else _causes(db, change)
    index.apply(db, change, origin=origin, now=now)
    index.write_files(db, str(root), [_marked(row, settled.shared) for row in reading.rows.values()])
    report = finished(db, origin, change, now)
    unchanged = report.documents - len(change.added) - len(change.changed)
    return replace(report, unchanged=max(0, unchanged), causes=causes)


def _causes(db: apsw.Connection, change: Difference) -> dict[str, tuple[str, ...]]:
    """Return the documents that depend on what a difference changes."""
    changed = [document.anchor for document in change.changed]
    return dependents(changed, index.edges_to(db, changed)) if changed else {}


def update_files(db: Database, root: Path, paths: Sequence[str], *, now: datetime) -> IndexReport | None:
    """Bring single files up to date without walking the folder; null when other files have to be looked at.

    That is so when an anchor changes its owner. `paths` are relative to the root; a missing file is a removed one.
    """
    reading = Reading()
    for path in paths:
        try:
            stat = (root / path).stat()
        except FileNotFoundError:
            continue
        reading.documents += _read_file(root, Found(path, stat.st_mtime_ns, stat.st_size), {}, reading)
    settled = settle(reading.documents)
    if settled.collisions:
        return None
    return db.write(lambda connection: _update(connection, root, paths, reading, settled, now))


def _update(
    db: apsw.Connection, root: Path, paths: Sequence[str], reading: Reading, settled: Settled, now: datetime
) -> IndexReport | None:
    origin, wanted = origin_of(root), json.dumps(list(paths))
    held = rows(
        db,
        "SELECT anchor, text_hash FROM docs WHERE origin = ? AND path IN (SELECT value FROM json_each(?))",
        (origin, wanted),
    )
    change = difference(dict(held), settled.documents)
    keys = json.dumps([anchor_key(document.anchor) for document in change.added])
    is_taken = rows(db, "SELECT 1 FROM aliases WHERE is_own AND key IN (SELECT value FROM json_each(?))", (keys,))
    is_shared = rows(db, "SELECT 1 FROM files WHERE root = ? AND reason = ? LIMIT 1", (str(root), COLLISION))
    if is_taken or (is_shared and change.removed):
        return None
    causes = _causes(db, change)
    index.apply(db, change, origin=origin, now=now)
    db.execute("DELETE FROM files WHERE root = ? AND path IN (SELECT value FROM json_each(?))", (str(root), wanted))
    index.add_files(db, str(root), reading.rows.values())
    return replace(finished(db, origin, change, now, is_counted=False), causes=causes)


def _everything(change: Difference, wanted: Iterable[Document], old: set[str]) -> Difference:
    changed = tuple(document for document in wanted if document.anchor in old)
    return replace(change, changed=changed, unchanged=0)


def _marked(row: tuple[FileReport, str, int, int], shared: frozenset[str]) -> tuple[FileReport, str, int, int]:
    """Return a file's row with its reason; a file that shares an anchor is read in every run, to see who owns it."""
    report, digest, mtime, size = row
    return (replace(report, reason=COLLISION) if report.path in shared else report, digest, mtime, size)


def finished(
    db: apsw.Connection, origin: str, change: Difference, now: datetime, *, is_counted: bool = True
) -> IndexReport:
    """Close a run that wrote a difference, and report it. The generation rises when something changed.

    Counting all documents of an origin takes its time: without it, those of the difference are counted.
    """
    is_change = bool(change.added or change.changed or change.removed)
    generation = index.next_generation(db, now) if is_change else int(index.meta(db, "generation") or 0)
    if not is_change:
        index.touch(db, now)
    written = (*change.added, *change.changed)
    documents_held, passages_held = len(written), sum(len(document.passages) for document in written)
    if is_counted:
        documents_held, passages_held = index.counts(db, origin)
    return IndexReport(
        root=origin.removeprefix("files:"),
        generation=generation,
        added=tuple(document.anchor for document in change.added),
        changed=tuple(document.anchor for document in change.changed),
        removed=change.removed,
        unchanged=change.unchanged,
        documents=documents_held,
        passages=passages_held,
    )
