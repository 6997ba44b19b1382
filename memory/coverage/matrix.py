"""The coverage matrix: rows of all sources, each anchor once with all its origins, a floor for every source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from memory.anchors import anchor_key

MatchType = Literal["direct", "alias", "source-thread", "convention"]
SourceName = Literal["docs", "threads", "convention"]

QUOTA: dict[str, int] = {"docs": 25, "threads": 20, "convention": 10}
"""Rows of each source that are never pushed out. Source: F200 HW-1."""

MAX_TOTAL = 50
MAX_LOOKUPS = 20
HITS_PER_TERM = 5

ORIGIN_OF: dict[MatchType, str] = {
    "direct": "query",
    "alias": "doc_alias",
    "source-thread": "source_thread",
    "convention": "convention",
}
CONFIDENCE: dict[str, float] = {"query": 0.8, "doc_alias": 0.4, "source_thread": 0.6, "convention": 0.3}
"""How far one origin alone is to be believed; several together are believed as independent witnesses."""

_THREAD = re.compile(r"\bthread[-_][A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a source gives for one document."""

    anchor: str
    title: str = ""
    kind: str = ""
    path: str = ""
    summary: str = ""
    keywords: tuple[str, ...] = ()
    """Declared topics and aliases: what may stand for the query."""
    source_ids: tuple[str, ...] = ()
    stale: bool = False
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the matrix."""

    anchor: str
    source: SourceName
    match_type: MatchType
    """The best of its origins."""
    title: str = ""
    kind: str = ""
    path: str = ""
    origins: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    """The keywords, threads or documents through which it was found; empty for direct rows."""
    who: str = ""
    """The thread or document that mentions it, where that is another one."""
    score: float | None = None

    @property
    def is_direct(self) -> bool:
        """Whether the query itself found it."""
        return "query" in self.origins

    @property
    def confidence(self) -> float:
        """In (0, 1): how far the row belongs to the question; more origins, more confidence."""
        doubt = 1.0
        for origin in self.origins:
            doubt *= 1.0 - CONFIDENCE.get(origin, 0.2)
        return 1.0 - doubt


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Everything that was found, page by page the same."""

    rows: tuple[Row, ...]
    by_source: Mapping[str, int] = field(default_factory=dict)
    """Of the whole matrix, on every page."""
    gaps: tuple[str, ...] = ()
    """Sources that were asked and have nothing."""
    executed_scopes: tuple[str, ...] = ()
    graph_queried: bool = False
    degraded: tuple[str, ...] = ()
    """Sources that did not answer, and why."""
    timed_out: bool = False
    skipped_stale: int = 0

    def page(self, offset: int, limit: int) -> tuple[Row, ...]:
        """Return one page; pages never overlap."""
        return self.rows[offset : offset + limit]


def row(found: Found, source: SourceName, match_type: MatchType, via: str = "") -> Row:
    """Return a found document as a row."""
    is_thread = found.kind in ("thread", "session") or found.anchor.startswith("thread-")
    return Row(
        anchor=found.anchor,
        source="threads" if is_thread and source == "docs" else source,
        match_type=match_type,
        title=found.title,
        kind=found.kind,
        path=found.path,
        origins=(ORIGIN_OF[match_type],),
        via=(via,) if via else (),
        who=via if match_type in ("source-thread", "convention") else "",
        score=found.score,
    )


def united(rows: Iterable[Row]) -> list[Row]:
    """Return each anchor once, in the order of its first row, with all origins; the first row's source stands."""
    merged: dict[str, Row] = {}
    for one in rows:
        key = anchor_key(one.anchor)
        held = merged.get(key)
        if held is None:
            merged[key] = one
            continue
        merged[key] = replace(
            held,
            origins=tuple(dict.fromkeys([*held.origins, *one.origins])),
            via=tuple(dict.fromkeys([*held.via, *one.via])),
            title=held.title or one.title,
        )
    return list(merged.values())


def within_quota(rows: Sequence[Row], quota: Mapping[str, int], max_total: int) -> list[Row]:
    """Return at most `max_total` rows: every source first gets its fair share in turn, then what is left over.

    No source has more than its quota, and none is pushed out by another: rows are taken in rounds.
    """
    lanes: dict[str, list[Row]] = {}
    for one in rows:
        lanes.setdefault(one.source, []).append(one)
    kept = {name: lane[: quota.get(name, max_total)] for name, lane in lanes.items()}
    taken: set[int] = set()
    depth = 0
    while len(taken) < max_total and any(depth < len(lane) for lane in kept.values()):
        for lane in kept.values():
            if depth < len(lane) and len(taken) < max_total:
                taken.add(id(lane[depth]))
        depth += 1
    return [one for one in rows if id(one) in taken]


def interleaved(rows: Sequence[Row]) -> list[Row]:
    """Return the rows source by source in turn, the most certain of each first, so that a page shows all sources."""
    lanes: dict[str, list[Row]] = {}
    for one in rows:
        lanes.setdefault(one.source, []).append(one)
    for lane in lanes.values():
        lane.sort(key=lambda entry: -entry.confidence)
    longest = max((len(lane) for lane in lanes.values()), default=0)
    return [lane[at] for at in range(longest) for lane in lanes.values() if at < len(lane)]


def threads_of(found: Found) -> tuple[str, ...]:
    """Return the threads that a document says it came from, or names in its summary."""
    stated = [item if item.startswith("thread") else f"thread-{item}" for item in found.source_ids]
    named = [match.rstrip("-_") for match in _THREAD.findall(f"{found.title} {found.summary}")]
    return tuple(dict.fromkeys(item.replace("thread_", "thread-", 1) for item in [*stated, *named]))


def keywords_of(direct: Sequence[Found], query: str) -> list[str]:
    """Return the declared keywords of direct hits that the query does not hold itself, commonest first."""
    counts: dict[str, int] = {}
    asked = query.casefold()
    for found in direct:
        for word in found.keywords:
            if word.casefold() not in asked:
                counts[word] = counts.get(word, 0) + 1
    return sorted(counts, key=lambda word: -counts[word])
