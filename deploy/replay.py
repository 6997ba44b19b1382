"""Replay: what the raw events come to by today's rules; to rebuild the derived tables, or to check them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import msgspec

from correlator.documents import NO_DOCUMENTS, Documents
from correlator.offline import correlate
from correlator.signals import with_signals
from correlator.window import DEFAULT_POLICY, CorrelatorPolicy
from streams import codec
from streams.events import (
    DocumentIndexed,
    InvocationEnded,
    InvocationStarted,
    MessagePosted,
    OutcomeSignalled,
    ToolCalled,
    ToolEvent,
)
from streams.log import Emitter, Record
from streams.topics import RECALL_EVENTS, TRAJECTORIES, Topic
from warehouse import rows, schema
from warehouse.store import Warehouse

Row = Mapping[str, Any]

CHUNK = 500
"""Messages that a rebuild hands to the broker at a time."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Difference:
    """One row that stream and replay do not agree on."""

    table: str
    identity: str
    column: str
    """The first column that differs; empty when one side has no such row."""
    landed: Any
    replayed: Any


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison of one table came to."""

    table: str
    rows: int
    """Rows that the replay makes."""
    lost: int
    """Rows that only the replay makes."""
    extra: int
    """Rows that only the table has."""
    differing: int
    first: Difference | None

    @property
    def equal(self) -> bool:
        """Tell whether both sides agree row for row."""
        return self.first is None


Conclusions = Mapping[Topic, Mapping[str, bytes]]
"""Topic -> id -> message value."""


@dataclass(frozen=True, slots=True)
class Said:
    """What was said of finished work, by thread."""

    signals: Mapping[str, Sequence[OutcomeSignalled]]
    messages: Mapping[str, Sequence[MessagePosted]]


NOTHING_SAID = Said({}, {})


def conclusions_of(
    events: Iterable[ToolEvent],
    policy: CorrelatorPolicy = DEFAULT_POLICY,
    documents: Documents = NO_DOCUMENTS,
    said: Said = NOTHING_SAID,
) -> Conclusions:
    """Return the final messages that these events come to."""
    recalls, trajectories = correlate(events, policy=policy, documents=documents)
    weighed = (
        with_signals(each, said.signals.get(each.thread_id, ()), said.messages.get(each.thread_id, ()))
        if each.thread_id
        else each
        for each in trajectories
    )
    encode = msgspec.json.Encoder().encode
    return {
        RECALL_EVENTS: {recall.recall_id: encode(recall) for recall in recalls},
        TRAJECTORIES: {each.trajectory_id: encode(each) for each in weighed},
    }


def raw_events(
    warehouse: Warehouse, *, since: datetime | None = None, until: datetime | None = None
) -> Iterator[ToolEvent]:
    """Yield the tool events that have landed."""
    for event in warehouse.tool_events(since=since, until=until):
        if isinstance(event, ToolCalled | InvocationStarted | InvocationEnded):
            yield event


def said(warehouse: Warehouse) -> Said:
    """Return the outside signals and chat turns that have landed."""
    signals: dict[str, list[OutcomeSignalled]] = {}
    messages: dict[str, list[MessagePosted]] = {}
    for row in warehouse.sql("SELECT raw FROM signals UNION ALL SELECT raw FROM messages"):
        event = codec.decode_line(row["raw"])
        if isinstance(event, OutcomeSignalled):
            signals.setdefault(event.thread_id, []).append(event)
        elif isinstance(event, MessagePosted):
            messages.setdefault(event.thread_id, []).append(event)
    return Said(signals, messages)


def indexed(warehouse: Warehouse) -> Documents:
    """Return the documents that stand in the warehouse at present."""
    found = warehouse.sql("SELECT anchor, path, doc_kind, occurred_at FROM documents WHERE NOT gone ORDER BY anchor")
    return Documents(DocumentIndexed(**row) for row in found)


async def rebuild(emitter: Emitter, conclusions: Conclusions) -> int:
    """Publish conclusions anew and return how many; the sink lands them, and the newest of a revision counts."""
    sent = 0
    for topic, messages in conclusions.items():
        pending: Iterator[tuple[str, bytes | None]] = iter(messages.items())
        while chunk := list(islice(pending, CHUNK)):
            await emitter.emit_all(topic.name, chunk)
            sent += len(chunk)
    return sent


def compare(warehouse: Warehouse, conclusions: Conclusions) -> list[Comparison]:
    """Compare the derived tables with what a replay makes, row by row and column by column."""
    return [
        _compared(table, _landed(warehouse, table), _rows(table, topic, conclusions[topic]))
        for topic, table in ((RECALL_EVENTS, schema.RECALL_EVENTS), (TRAJECTORIES, schema.TRAJECTORIES))
    ]


def _compared(table: schema.Table, landed: Mapping[str, Row], replayed: Mapping[str, Row]) -> Comparison:
    lost, extra = sorted(replayed.keys() - landed.keys()), sorted(landed.keys() - replayed.keys())
    differing = sorted(key for key in replayed.keys() & landed.keys() if replayed[key] != landed[key])
    return Comparison(
        table=table.name,
        rows=len(replayed),
        lost=len(lost),
        extra=len(extra),
        differing=len(differing),
        first=_first(table, [*lost, *extra, *differing], landed, replayed),
    )


def _first(
    table: schema.Table, keys: Sequence[str], landed: Mapping[str, Row], replayed: Mapping[str, Row]
) -> Difference | None:
    if not keys:
        return None
    key = keys[0]
    if key not in landed or key not in replayed:
        return Difference(table.name, key, "", key in landed, key in replayed)
    column = next(name for name in table.columns if landed[key][name] != replayed[key][name])
    return Difference(table.name, key, column, landed[key][column], replayed[key][column])


def _landed(warehouse: Warehouse, table: schema.Table) -> dict[str, Row]:
    with warehouse.connect() as connection:
        query = f"SELECT {', '.join(table.columns)} FROM {table.name}"
        found = connection.sql(query).to_arrow_table()
    wanted = table.schema.empty_table().select(list(table.columns)).schema
    return _by_identity(table, found.cast(wanted).to_pylist()) if found is not None else {}


def _rows(table: schema.Table, topic: Topic, messages: Mapping[str, bytes]) -> dict[str, Row]:
    """Return the rows as they would land, by the sink's own code."""
    records = [
        Record(topic=topic.name, partition=0, offset=n, key=key.encode(), value=value, timestamp=_EPOCH)
        for n, (key, value) in enumerate(messages.items())
    ]
    made, _ = rows.to_arrow(table, rows.sort(records).rows.get(table.name, []))
    return _by_identity(table, made.select(list(table.columns)).to_pylist())


def _by_identity(table: schema.Table, found: Iterable[Row]) -> dict[str, Row]:
    return {row[table.identity[-1]]: row for row in found}
