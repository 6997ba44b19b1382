"""An edit is searchable within a second."""

from __future__ import annotations

import queue
import threading
import time
from pathlib import Path

from memory.model import IndexReport, SearchRequest
from memory.store import SearchStore
from memory.watcher.app import follow


def test_an_edit_is_searchable_within_a_second(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# Kettle\n")
    reports: queue.Queue[IndexReport] = queue.Queue()
    stop, started = threading.Event(), threading.Event()
    with SearchStore.open(tmp_path / "data") as store:
        store.index(docs)
        arguments = (store, docs, stop, reports.put)
        watcher = threading.Thread(target=follow, args=arguments, kwargs={"started": started.set})
        watcher.start()
        try:
            assert started.wait(10)
            edited = time.monotonic()
            (docs / "a.md").write_text("# Samovar\n")
            report = reports.get(timeout=10)
            took = time.monotonic() - edited
            found = [hit.anchor for hit in store.search(SearchRequest(query="samovar")).hits]
        finally:
            stop.set()
            watcher.join()

    assert report.changed == ("doc:a",)
    assert found == ["doc:a"]
    assert took < 5.0  # a second on an idle machine; tests share theirs
