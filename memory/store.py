"""The search store: a folder of documents made searchable, asked, and kept up to date."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import apsw

from memory.embed.provider import Embedder, EmbedMode
from memory.index import store as index
from memory.index.builder import difference, settle
from memory.index.client import Database
from memory.index.job import finished, index_folder
from memory.index.migrate import migrations
from memory.index.segment import SEGMENTER_VERSION
from memory.model import Answer, Document, IndexReport, SearchRequest
from memory.search.client import Searcher
from memory.sources.documents import hashed
from memory.state.store import StateStore, Withdrawn
from memory.vectors.store import VectorStore
from streams.clock import Clock, SystemClock
from streams.errors import SourceError
from streams.events import DocumentIndexed
from streams.recall import AnchorPrior


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
        now = self.clock.now()
        report = index_folder(self.index_db, root, now=now, rebuild=rebuild)
        self.state.register_root(str(root), now)
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

    def documents(self, report: IndexReport | None = None) -> list[DocumentIndexed]:
        """Return what to publish on `memory.documents.v1`: all documents, or those that a run added or changed."""
        seen = self.state.first_seen()
        wanted = None if report is None else {*report.added, *report.changed}
        with self.index_db.read() as db:
            return index.published(db, seen, self.clock.now(), wanted)
