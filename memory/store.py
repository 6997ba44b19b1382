"""The search store: a folder of documents made searchable, asked, and kept up to date."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import apsw

from memory.anchors import anchor_key
from memory.embed.provider import Embedder, EmbedMode
from memory.index import store as index
from memory.index.builder import difference, settle
from memory.index.client import Database
from memory.index.job import finished, index_folder, update_files
from memory.index.migrate import migrations
from memory.index.segment import SEGMENTER_VERSION
from memory.integrity.store import REPAIRED_BY_INDEXING, CheckReport, Finding, check, lint, repair
from memory.model import Answer, Document, Edge, IndexReport, SearchRequest
from memory.search import store as rows
from memory.search.client import Searcher
from memory.search.recent import choose_kinds, cutoff
from memory.search.store import DocRow
from memory.sources.documents import hashed
from memory.sources.retained import memory_anchor, retained_document
from memory.state.store import StateStore, Withdrawn
from memory.vectors.store import VectorStore
from streams.clock import Clock, SystemClock
from streams.errors import SourceError
from streams.events import DocumentIndexed
from streams.recall import AnchorPrior

MANUAL = ""
"""Owner of the edges that were stated by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """What changed lately."""

    items: tuple[DocRow, ...]
    since: datetime
    dropped: tuple[str, ...] = ()
    nudge: str | None = None


class SearchStore:
    """`index.sqlite` (disposable) and `state.sqlite` (durable) of one data folder."""

    def __init__(self, folder: Path, clock: Clock, embedder: Embedder | None, mode: EmbedMode) -> None:
        """Open both files; see `open`."""
        self.clock = clock
        self.index_db = Database(folder / "index.sqlite", migrations("index"))
        self.state = StateStore(folder / "state.sqlite")
        self.vectors = VectorStore(self.index_db, embedder, mode, clock)
        self.searcher = Searcher(self.index_db, self.state, self.vectors, clock)
        self.recovered = self.index_db.recovered

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        clock: Clock | None = None,
        embedder: Embedder | None = None,
        embed_mode: EmbedMode = "on",
    ) -> Self:
        """Open or create the store of a folder; a lost or broken index is made again from the registered folders.

        Without an embedder every search is lexical; with one, `embed` makes what is missing.

        Raises:
            StorageUnavailable: when the files cannot be opened.
        """
        store = cls(folder, clock or SystemClock(), embedder, embed_mode)
        if store._is_outdated():
            for root in store.state.roots():
                if Path(root).is_dir():
                    store.index(Path(root), rebuild=not store.index_db.is_new)
            edges = store.state.manual_edges()
            store.index_db.write(lambda db: index.add_edges(db, MANUAL, edges))
            store._index_retained()
        return store

    def _is_outdated(self) -> bool:
        """Tell whether the index has to be made again: it is new, or another segmenter wrote it."""
        if self.index_db.is_new:
            return True
        with self.index_db.read() as db:
            version = index.meta(db, "segmenter_version")
        return version is not None and version != str(SEGMENTER_VERSION)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close both files and free the model."""
        self.vectors.close()
        self.index_db.close()
        self.state.close()

    def search(self, request: SearchRequest) -> Answer:
        """Answer a request. A fault of the store is said in the answer, never raised.

        Raises:
            InvalidDateError: for a date filter that cannot be read.
        """
        return self.searcher.search(request)

    def embed(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Embed what has no vector yet and return how many texts that were; `progress` hears (done, of).

        Raises:
            EmbeddingUnavailable: when the provider fails; what is done stays done, and search stays lexical.
        """
        return self.vectors.embed_missing(progress)

    def put_priors(self, updates: Iterable[AnchorPrior | Withdrawn]) -> int:
        """Write priors in one transaction, never over a newer one; see `memory.applier`."""
        return self.state.put_priors(updates)

    def index(self, root: Path, *, rebuild: bool = False) -> IndexReport:
        """Bring the index up to date with a folder, in one transaction: readers see the old state or the new one.

        Only files whose size or time changed are read. `rebuild` reads and writes everything again.

        Raises:
            SourceError: when the folder does not exist.
        """
        started = time.perf_counter()
        root = root.expanduser().resolve()
        if not root.is_dir():
            raise SourceError(f"expected a folder of documents, got {root}")
        report = index_folder(self.index_db, root, now=self.clock.now(), rebuild=rebuild)
        self.state.register_root(str(root), self.clock.now())
        return self._noted(report, started)

    def update(self, root: Path, paths: Sequence[str]) -> IndexReport:
        """Bring single files of an indexed folder up to date; `paths` are relative to it, missing ones are removed.

        Where an anchor changes its owner the whole folder is looked at. The report counts what was written.

        Raises:
            ValueError: for a path outside the folder.
        """
        started = time.perf_counter()
        root = root.expanduser().resolve()
        for path in paths:
            if ".." in Path(path).parts or Path(path).is_absolute():
                raise ValueError(f"expected paths relative to {root}, got {path!r}")
        report = update_files(self.index_db, root, paths, now=self.clock.now())
        return self.index(root) if report is None else self._noted(report, started)

    def _noted(self, report: IndexReport, started: float) -> IndexReport:
        now = self.clock.now()
        self.state.see(report.added, now)
        self.state.unflag([*report.changed, *report.removed])
        self.state.flag(report.causes, now)
        return replace(report, recovered=self.recovered, elapsed_ms=(time.perf_counter() - started) * 1000)

    def put(self, wanted: Sequence[Document], *, origin: str) -> IndexReport:
        """Make the documents of one origin exactly these; for sources that are no files."""
        now = self.clock.now()
        settled = settle([document if document.text_hash else hashed(document) for document in wanted])

        def change(db: apsw.Connection) -> IndexReport:
            rows = db.execute("SELECT anchor, text_hash FROM docs WHERE origin = ?", (origin,))
            found = difference(dict(rows), settled.documents)
            index.apply(db, found, origin=origin, now=now)
            return replace(finished(db, origin, found, now), collisions=settled.collisions)

        report = self.index_db.write(change)
        self.state.see(report.added, now)
        return report

    def retain(self, content: str, tags: Sequence[str] = (), source: str = "") -> tuple[str, int]:
        """Remember a text for later searches; return its anchor and how often it has been asked for.

        Case, spaces and the final full stop make no other memory.

        Raises:
            ValueError: for an empty text or one of more than 50,000 characters.
        """
        anchor = memory_anchor(content)
        support = self.state.retain(anchor, content.strip(), tags, source, self.clock.now())
        self._index_retained()
        return anchor, support

    def _index_retained(self) -> None:
        found = [retained_document(*memory) for memory in self.state.retained()]
        if found:
            self.put(found, origin="retained")

    def document(self, anchor: str) -> DocRow | None:
        """Return the document that an anchor means, in any spelling; null when there is none."""
        with self.index_db.read() as db:
            ids = rows.by_keys(db, [anchor_key(anchor)])
            return rows.documents(db, ids[:1]).get(ids[0]) if ids else None

    def edges(self, anchor: str | None = None) -> list[Edge]:
        """Return all edges, or those that begin or end at a document; those stated by hand included."""
        with self.index_db.read() as db:
            return index.edges_where(db, "1") if anchor is None else index.edges_of(db, anchor)

    def add_edge(self, edge: Edge) -> None:
        """State an edge by hand; it stays when documents are indexed again."""
        self.state.add_edge(edge, self.clock.now())
        self.index_db.write(lambda db: index.add_edges(db, MANUAL, [replace(edge, provenance="manual")]))

    def recent(
        self, since: str, *, scope: str = "all", kinds: Sequence[str] = (), limit: int = 20, now: datetime | None = None
    ) -> Recent:
        """Return what changed since then, newest first, by when its content changed.

        Raises:
            InvalidSinceError: for a `since` that cannot be read.
        """
        earliest = cutoff(since, now or self.clock.now())
        chosen = choose_kinds(scope, kinds)
        with self.index_db.read() as db:
            found = rows.recent(db, earliest, None if scope == "all" and not kinds else chosen.kinds, limit)
        return Recent(items=tuple(found), since=earliest, dropped=chosen.dropped, nudge=chosen.nudge)

    def check(self) -> CheckReport:
        """Compare the index with itself and its files; see `memory.integrity.store`."""
        return self.index_db.write(lambda db: check(db, self.index_db.path))

    def lint(self) -> list[Finding]:
        """Return where documents point to what is not there, or replace each other in a circle."""
        with self.index_db.read() as db:
            return lint(db)

    def repair(self, report: CheckReport) -> int:
        """Put right what a check found: in place where the index knows better, else by reading the files again."""
        done = self.index_db.write(lambda db: repair(db, report.findings))
        roots = {finding.detail for finding in report.findings if finding.code in REPAIRED_BY_INDEXING}
        for root in sorted(roots):
            if Path(root).is_dir():
                self.index(Path(root), rebuild=True)
                done += sum(1 for finding in report.findings if finding.detail == root)
        return done

    def documents(self, report: IndexReport | None = None) -> list[DocumentIndexed]:
        """Return what to publish on `memory.documents.v1`: all documents, or those that a run added or changed."""
        seen = self.state.first_seen()
        wanted = None if report is None else {*report.added, *report.changed}
        with self.index_db.read() as db:
            return index.published(db, seen, self.clock.now(), wanted)
