"""The read side: figures, searches, exposures and raw events, each question on its own fresh view of the catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb

from streams import codec
from streams.codec import LogEvent
from warehouse import manifest, measures, partition, publisher, verdict
from warehouse.measures import SLICES, Measure, Query
from warehouse.schema import TABLES
from warehouse.storage.store import LocalStorage
from warehouse.values import MeasureValue, Question, figure
from warehouse.verdict import Diagnosis

PARTS = 100
"""Groups of invocations that the bootstrap draws from; more change no digit that is shown."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """One document shown by one search, and what came of it."""

    anchor: str
    doc_kind: str | None
    rank: int
    """Best 1-based rank of the anchor in the list (an anchor listed twice was shown once)."""
    tool: str
    runtime: str
    agent_id: str
    invocation_id: str
    recall_id: str
    occurred_at: datetime
    consumed: bool
    credit: float
    """Credited consumption in [0, 1]: 1/m when the consuming call matched m searches; 0 when not consumed."""
    consumed_at: datetime | None
    dwell_ms: int | None
    already_seen: bool
    clarity: str | None
    """`clean`, `ambiguous`, or null when the search consumed nothing."""
    propensity: float | None
    team: str | None


@dataclass(frozen=True, slots=True)
class AnchorCounts:
    """What consumption says of one anchor as of one instant."""

    anchor: str
    doc_kind: str | None
    path: str
    title: str
    authority: str | None
    """Null when no index has announced the anchor."""
    exposures: int
    """Searches of the window that showed it, once each."""
    consumptions: int
    """Of these, searches that consumed it."""
    credit: float
    """Credited consumptions of the window: 1/m where the consuming call matched m searches."""
    consumptions_outside: int
    """Invocations of the window that opened it although no search had shown it."""
    first_shown_at: datetime | None
    last_shown_at: datetime | None
    last_consumed_at: datetime | None
    """Over all history, the time of the consuming call."""
    dormancy_days: int | None
    """Whole days since it was consumed; null when it never was."""
    first_indexed_at: datetime | None
    history: str
    """`consumed`, `shown_never_consumed`, or `never_shown`: being ignored is not being unseen."""


@dataclass(frozen=True, slots=True)
class KindBaseline:
    """How often documents of one kind are consumed when shown."""

    doc_kind: str
    mean_ctr: float
    """Mean over anchors of consumptions / exposures."""
    anchors: int
    exposures: int
    consumptions: int


@dataclass(frozen=True, slots=True)
class TableSize:
    """What one table takes on disk, files that wait for their removal included."""

    table: str
    files: int
    bytes: int
    days: int


class Warehouse:
    """A warehouse folder, read. Every call sees the catalog as last published; none of them ever writes a table."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).absolute()
        self.catalog = self.root / publisher.CATALOG

    @cached_property
    def registry(self) -> list[Measure]:
        """Every measure."""
        return publisher.load_measures()

    @cached_property
    def _relations(self) -> dict[str, Query]:
        return publisher.load_queries("relations")

    @contextmanager
    def connect(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection whose default schema is the catalog, in UTC. An absent catalog is published first."""
        if not self.catalog.exists():
            storage = LocalStorage(self.root / publisher.TABLES_FOLDER)
            publisher.seed(storage)
            publisher.publish(storage, self.catalog)
        # In memory with the catalog attached: a direct connection would share a cached, older file inside a process.
        connection = duckdb.connect()
        try:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(f"ATTACH '{self.catalog.as_posix()}' AS warehouse (READ_ONLY)")
            connection.execute("USE warehouse")
            yield connection
        finally:
            connection.close()

    def sql(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Return the rows of a query over the catalog, as dicts."""
        with self.connect() as connection:
            return _rows(connection, query, parameters or {})

    def measures(
        self,
        asof: datetime,
        days: int = 30,
        *,
        agent: str | None = None,
        runtime: str | None = None,
        tool: str | None = None,
        surface: str | None = "memory",
        base: str = "known",
        credit: str = "all",
        slice_by: str = "all",
        names: Sequence[str] | None = None,
    ) -> list[MeasureValue]:
        """Return the figures of the `days` before `asof` (both ends inclusive), one for each measure and slice.

        Without a slice every measure has exactly one figure, measured or not.

        Args:
            surface: `memory`, `code_search`, `web_search`, or null for all.
            base: `known` divides by searches answered or authoritatively empty, `exposed` by answered ones.
            credit: `all`, or `clean` to leave out searches whose consumption is shared with another search.
            names: Only these measures.

        Raises:
            ValueError: for an unknown slice, base, credit or measure.
        """
        _check("slice_by", slice_by, SLICES)
        _check("base", base, ("known", "exposed"))
        _check("credit", credit, ("all", "clean"))
        for name in names or ():
            _check("measure", name, [measure.name for measure in self.registry])
        chosen = [measure for measure in self.registry if names is None or measure.name in names]
        parameters = {
            "asof": asof,
            "days": days,
            "agent": agent,
            "runtime": runtime,
            "tool": tool,
            "surface": surface,
            "base": base,
            "credit": credit,
            "slice_by": slice_by,
            "parts": PARTS,
        }
        found: dict[str, list[MeasureValue]] = {}
        with self.connect() as connection:
            newest = connection.execute("SELECT max(_logged_at) FROM recall_events").fetchall()[0][0]
            question = Question(as_of=asof, newest=newest, slice_by=slice_by, base=base, credit=credit)
            for relation, group in measures.by_relation(chosen).items():
                query = measures.combined(relation, group, self._relations)
                rows = connection.execute(query, measures.used(query, parameters)).fetchall()
                found |= _figures(group, rows, question)
        return [value for measure in chosen for value in found[measure.name]]

    def diagnose(self, asof: datetime, days: int = 7, *, surface: str | None = "memory") -> Diagnosis:
        """Return what is to be looked at first: empty answers, unclear attribution, or the order of results."""
        known, exposed, clean = (
            verdict.by_name(self.measures(asof, days, surface=surface, base=base, credit=credit))
            for base, credit in (("known", "all"), ("exposed", "all"), ("known", "clean"))
        )
        return verdict.judge(known, exposed, clean)

    def recall_events(
        self,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        agent: str | None = None,
        tool: str | None = None,
        surface: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[dict[str, Any]]:
        """Return searches with their candidates and consumptions, newest first."""
        return self.sql(
            publisher.load_text("events/recall_events.sql"),
            {
                "since": since,
                "until": until,
                "agent": agent,
                "tool": tool,
                "surface": surface,
                "limit": limit,
                "offset": offset,
            },
        )

    def anchor_exposures(self, asof: datetime, days: int = 30, *, surface: str | None = "memory") -> list[Exposure]:
        """Return the exposures of the `days` before `asof` (both ends inclusive), by time; one an anchor and search."""
        rows = self.sql(
            measures.parse(publisher.load_text("anchor_queries/exposures.sql")).sql,
            {"asof": asof, "days": days, "surface": surface},
        )
        return [Exposure(**row) for row in rows]

    def anchors(self, asof: datetime, days: int = 30, *, surface: str | None = "memory") -> list[AnchorCounts]:
        """Return every anchor that was shown, consumed or indexed, with its counts of the `days` before `asof`."""
        query = measures.parse(publisher.load_text("anchor_queries/anchors.sql")).sql
        return [AnchorCounts(**row) for row in self.sql(query, {"asof": asof, "days": days, "surface": surface})]

    def kinds(self, asof: datetime, days: int = 30, *, surface: str | None = "memory") -> list[KindBaseline]:
        """Return the mean consumption rate of each document kind, over anchors that were shown."""
        anchors = measures.parse(publisher.load_text("anchor_queries/anchors.sql")).sql
        kinds = measures.parse(publisher.load_text("anchor_queries/kinds.sql")).sql
        query = f"WITH anchors AS (\n{anchors}\n)\n{kinds}"
        return [KindBaseline(**row) for row in self.sql(query, {"asof": asof, "days": days, "surface": surface})]

    def disk_usage(self) -> list[TableSize]:
        """Return what each table takes on disk."""
        storage = LocalStorage(self.root / publisher.TABLES_FOLDER)
        sizes: list[TableSize] = []
        for table in TABLES:
            paths = storage.find(table.name) + storage.find(f"{manifest.FOLDER}/{table.name}")
            paths = [path for path in paths if path != partition.seed(table.name)]
            days = {partition.day_in(path) for path in paths}
            sizes.append(TableSize(table.name, len(paths), sum(map(storage.size, paths)), len(days)))
        return sizes

    def tool_events(self, *, since: datetime | None = None, until: datetime | None = None) -> Iterator[LogEvent]:
        """Yield the raw events by (root session, time, turn), decoded from the bytes that came, for a replay."""
        with self.connect() as connection:
            cursor = connection.execute(
                publisher.load_text("events/tool_events.sql"),
                {"since": since, "until": until},
            )
            while rows := cursor.fetchmany(5000):
                for (raw,) in rows:
                    event = codec.decode_line(raw)
                    if not isinstance(event, codec.BadLine):
                        yield event


def _rows(connection: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    cursor = connection.execute(query, dict(parameters))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _check(what: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValueError(f"expected {what} in {', '.join(allowed)}, got {value!r}")


def _figures(group: Sequence[Measure], rows: Sequence[Any], question: Question) -> dict[str, list[MeasureValue]]:
    by_slice: dict[str, list[Any]] = {"all": []} if question.slice_by == "all" else {}
    for row in rows:
        by_slice.setdefault(row[0], []).append(row)
    return {
        measure.name: [
            figure(measure, [(row[column], row[column + 1]) for row in parts], question, slice_)
            for slice_, parts in by_slice.items()
        ]
        for column, measure in _columns_of(group)
    }


def _columns_of(group: Sequence[Measure]) -> Iterator[tuple[int, Measure]]:
    """Yield each measure with the column of its numerator: after slice and part stand num and den of each."""
    for index, measure in enumerate(group):
        yield 2 + 2 * index, measure
