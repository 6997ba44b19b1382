"""Follows a folder: an edit is searchable within a second."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import watchfiles

from memory.model import IndexReport
from memory.store import SearchStore
from streams.errors import StorageUnavailable

DEBOUNCE_MS = 200
"""Waits for an editor to finish writing its files."""
STEP_MS = 50


def follow(
    store: SearchStore,
    root: Path,
    stop: threading.Event,
    report: Callable[[IndexReport], None],
    *,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Index a folder whenever something in it changes, until `stop` is set.

    A write that the disk refuses is tried again with the next change; the index stays as it was.
    """
    watching = watchfiles.watch(
        root, stop_event=stop, debounce=DEBOUNCE_MS, step=STEP_MS, yield_on_timeout=True, rust_timeout=200
    )
    is_first = True
    for changes in watching:
        if is_first:
            started()
            is_first = False
        if not changes:
            continue
        try:
            found = store.index(root)
        except StorageUnavailable:
            continue
        if found.added or found.changed or found.removed:
            report(found)
