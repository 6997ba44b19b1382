"""Asks every source of a coverage search within one budget; a source that stalls is named, the others stand."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from memory.coverage.matrix import (
    HITS_PER_TERM,
    MAX_LOOKUPS,
    MAX_TOTAL,
    QUOTA,
    Found,
    Matrix,
    Row,
    interleaved,
    keywords_of,
    row,
    threads_of,
    united,
    within_quota,
)

T = TypeVar("T")

BUDGET_S = 15.0
"""Source: F200 HW-1 (latency budget)."""

POOL = 50
"""Direct hits of a scope, whatever the page: so pages never overlap."""

SCOPES: dict[str, tuple[str, ...]] = {"all": ("docs", "threads"), "docs": ("docs",), "threads": ("threads",)}


class Sources(Protocol):
    """Where a coverage search looks."""

    def find(self, scope: str, query: str, limit: int) -> Sequence[Found]:
        """Return direct hits of a scope."""
        ...

    def lookup(self, keyword: str, limit: int) -> Sequence[Found]:
        """Return documents that hold a keyword."""
        ...

    def threads(self, ids: Sequence[str]) -> Sequence[Found]:
        """Return the threads of these ids that exist."""
        ...

    def consumers(self, anchors: Sequence[str]) -> Mapping[str, Sequence[Found]]:
        """Return, by anchor, the documents that depend on it; `stale` marks edges whose source has moved on."""
        ...


@dataclass(slots=True)
class _Run:
    """One search with its clock."""

    deadline: float
    pool: ThreadPoolExecutor
    degraded: list[str] = field(default_factory=list)
    timed_out: bool = False

    def ask(self, name: str, work: Callable[[], T]) -> T | None:
        """Return what a source says; null when it has not answered by the deadline."""
        future: Future[T] = self.pool.submit(work)
        try:
            return future.result(timeout=max(0.0, self.deadline - time.monotonic()))
        except TimeoutError:
            future.cancel()
            self.timed_out = True
            self.degraded.append(f"{name}: no answer in time")
            return None


def cover(
    sources: Sources,
    query: str,
    *,
    scope: str = "all",
    budget_s: float = BUDGET_S,
    quota: Mapping[str, int] = QUOTA,
    max_total: int = MAX_TOTAL,
) -> Matrix:
    """Return everything that the sources hold on a query. A narrow scope asks that scope only, and no graph."""
    scopes = SCOPES[scope]
    pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="coverage")
    run = _Run(time.monotonic() + budget_s, pool)
    try:
        direct = {name: run.ask(name, partial(sources.find, name, query, POOL)) or () for name in scopes}
        rows = [
            row(found, "docs" if name == "docs" else "threads", "direct") for name in scopes for found in direct[name]
        ]
        skipped = 0
        if scope == "all":
            expanded, skipped = _expanded(run, sources, query, [*direct.get("docs", ()), *direct.get("threads", ())])
            rows += expanded
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    kept = within_quota(united(rows), quota, max_total)
    by_source = {name: sum(1 for one in kept if one.source == name) for name in ("docs", "threads", "convention")}
    asked = [*scopes, *(["convention"] if scope == "all" else [])]
    return Matrix(
        rows=tuple(interleaved(kept)),
        by_source={name: count for name, count in by_source.items() if count or name in scopes},
        gaps=tuple(name for name in asked if not by_source[name]),
        executed_scopes=scopes,
        graph_queried=scope == "all",
        degraded=tuple(run.degraded),
        timed_out=run.timed_out,
        skipped_stale=skipped,
    )


def _expanded(run: _Run, sources: Sources, query: str, direct: Sequence[Found]) -> tuple[list[Row], int]:
    """Return rows found through keywords, source threads and dependent documents of the direct hits."""
    rows: list[Row] = []
    for keyword in keywords_of(direct, query)[:MAX_LOOKUPS]:
        hits = run.ask("aliases", partial(sources.lookup, keyword, HITS_PER_TERM)) or ()
        rows += [row(found, "docs", "alias", keyword) for found in hits]
    named = list(dict.fromkeys(thread for found in direct for thread in threads_of(found)))[:MAX_LOOKUPS]
    if named:
        existing = run.ask("threads", partial(sources.threads, named)) or ()
        rows += [row(found, "threads", "source-thread", found.anchor) for found in existing]
    skipped = 0
    if direct:
        consumers = run.ask("graph", partial(sources.consumers, [found.anchor for found in direct])) or {}
        for anchor, found_by in consumers.items():
            skipped += sum(1 for found in found_by if found.stale)
            rows += [row(found, "convention", "convention", anchor) for found in found_by if not found.stale]
    return rows, skipped
