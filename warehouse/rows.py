"""Records of the log to rows of the warehouse: pure, columnar, nothing dropped silently.

Every value is decoded by its contract first (a missing field gets its default, a broken one becomes a dead letter) and
then read column by column into Arrow. Building columns from the decoded values costs no more than parsing the JSON a
second time into Arrow, and cannot turn a default into a null.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cache
from itertools import accumulate, chain
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import msgspec
import pyarrow as pa

from streams import codec, deadletter
from streams.events import DocumentIndexed, MessagePosted, OutcomeSignalled, ToolCalled
from streams.log import Record
from streams.recall import RecallEvent, TaskTrajectory
from streams.topics import DOCUMENTS, MESSAGES, RECALL_EVENTS, SIGNALS, TOOL_EVENTS, TRAJECTORIES
from warehouse import schema
from warehouse.schema import Table


class Row(NamedTuple):
    """One value with the record it came in; the table says how its columns are read."""

    value: Any
    record: Record
    line: int
    """0-based line in the message."""
    raw: bytes | None
    day: date


@dataclass(frozen=True, slots=True)
class Rejected:
    """Bytes of a record that are no row, and why."""

    record: Record
    line: int
    """0-based line in the message."""
    raw: bytes
    stage: Literal["decode", "schema"]
    reason: str


@dataclass(slots=True)
class Sorted:
    """Rows of some records by table, and what could not be one."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)


TABLE_OF_TOPIC: dict[str, Table] = {
    TOOL_EVENTS.name: schema.TOOL_EVENTS,
    MESSAGES.name: schema.MESSAGES,
    SIGNALS.name: schema.SIGNALS,
    RECALL_EVENTS.name: schema.RECALL_EVENTS,
    TRAJECTORIES.name: schema.TRAJECTORIES,
    DOCUMENTS.name: schema.DOCUMENTS,
}
"""Which table a topic lands in; a `.dead` topic lands in `dead_letters`, any other in none."""

_recall = msgspec.json.Decoder(RecallEvent)
_trajectory = msgspec.json.Decoder(TaskTrajectory)
_document = msgspec.json.Decoder(DocumentIndexed)


@cache
def table_of(topic: str) -> Table | None:
    """Return the table that a topic lands in; null for a topic that is not landed."""
    return schema.DEAD_LETTERS if topic.endswith(".dead") else TABLE_OF_TOPIC.get(topic)


def sort(records: Iterable[Record]) -> Sorted:
    """Decode records and sort their rows by table; bytes that are no row are rejected, never dropped.

    A tombstone of a compacted topic that has no meaning here (a recall event withdrawn by erasure) makes no row.
    """
    out = Sorted()
    for record in records:
        table = table_of(record.topic)
        if table is None:
            continue
        rows = out.rows.setdefault(table.name, [])
        try:
            _SORTERS[table.name](record, rows, out.rejected)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            stage: Literal["decode", "schema"] = "schema" if isinstance(error, msgspec.ValidationError) else "decode"
            out.rejected.append(Rejected(record, 0, record.value or b"", stage, str(error)))
    return out


def _lines(record: Record, rows: list[Row], rejected: list[Rejected]) -> None:
    value = record.value or b""
    events, bad = codec.decode(value)
    rejected += [Rejected(record, line.index, line.raw, line.stage, line.reason) for line in bad]
    broken = {line.index for line in bad}
    lines = [(index, line) for index, line in enumerate(value.split(b"\n")) if line.strip() and index not in broken]
    for (index, line), event in zip(lines, events, strict=True):
        rows.append(Row(event, record, index, line, day_of(event.occurred_at)))


def _recall_event(record: Record, rows: list[Row], _: list[Rejected]) -> None:
    if record.value is not None:
        event = _recall.decode(record.value)
        rows.append(Row(event, record, 0, None, day_of(event.occurred_at)))


def _task_trajectory(record: Record, rows: list[Row], _: list[Rejected]) -> None:
    if record.value is not None:
        trajectory = _trajectory.decode(record.value)
        rows.append(Row(trajectory, record, 0, None, day_of(trajectory.started_at)))


def _document_indexed(record: Record, rows: list[Row], _: list[Rejected]) -> None:
    if record.value is None:
        anchor = (record.key or b"").decode()
        gone = DocumentIndexed(anchor=anchor, path="", doc_kind="", occurred_at=record.timestamp)
        rows.append(Row(gone, record, 0, None, day_of(record.timestamp)))
    else:
        document = _document.decode(record.value)
        rows.append(Row(document, record, 0, None, day_of(document.occurred_at)))


def _dead_letter(record: Record, rows: list[Row], _: list[Rejected]) -> None:
    value = record.value or b""
    try:
        letter = deadletter.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        topic = record.topic.removesuffix(".dead")
        letter = deadletter.DeadLetter(
            stage="decode", reason=f"no dead letter of ours: {error}", topic=topic, raw=value
        )
    rows.append(Row(letter, record, 0, letter.raw, day_of(letter.at or record.timestamp)))


_SORTERS: dict[str, Callable[[Record, list[Row], list[Rejected]], None]] = {
    "tool_events": _lines,
    "messages": _lines,
    "signals": _lines,
    "recall_events": _recall_event,
    "trajectories": _task_trajectory,
    "documents": _document_indexed,
    "dead_letters": _dead_letter,
}


def day_of(instant: datetime) -> date:
    """Return the UTC day of an instant."""
    return instant.astimezone(UTC).date() if instant.tzinfo is not None else instant.date()


def to_arrow(table: Table, rows: Sequence[Row]) -> tuple[pa.Table, list[Rejected]]:
    """Return rows as one Arrow table, and those whose values do not fit its types (an integer out of range)."""
    try:
        return _columns(table, rows), []
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, ValueError):
        if len(rows) == 1:
            raise
    good: list[Row] = []
    rejected: list[Rejected] = []
    for row in rows:
        try:
            _columns(table, [row])
        except (pa.ArrowException, OverflowError, UnicodeEncodeError, ValueError) as error:
            raw = row.raw if row.raw is not None else row.record.value or b""
            rejected.append(Rejected(row.record, row.line, raw, "schema", f"expected values of {table.name}: {error}"))
        else:
            good.append(row)
    return _columns(table, good), rejected


def _columns(table: Table, rows: Sequence[Row]) -> pa.Table:
    values = [row.value for row in rows]
    derived = _DERIVED.get(table.name, {})
    arrays: list[Any] = []
    for column in table.schema:
        if column.name in _OF_ROW:
            arrays.append(pa.array(list(map(_OF_ROW[column.name], rows)), column.type))
        else:
            read = derived.get(column.name) or attrgetter(column.name)
            arrays.append(_array(column.type, list(map(read, values))))
    return pa.Table.from_arrays(arrays, schema=table.schema)


_OF_ROW: dict[str, Callable[[Row], Any]] = {
    "_topic": lambda row: row.record.topic,
    "_partition": lambda row: row.record.partition,
    "_offset": lambda row: row.record.offset,
    "_index": lambda row: row.line,
    "_logged_at": lambda row: row.record.timestamp,
    "raw": lambda row: row.raw,
    "key": lambda row: row.record.key,
    "gone": lambda row: row.record.value is None,
    "letter_id": lambda row: hashlib.sha256(row.record.value or b"").hexdigest(),
}
"""Columns that are read from the record, not from the decoded value."""


def _kind(value: Any) -> str:
    return type(value).__name__


def _of(shape: type, name: str) -> Callable[[Any], Any]:
    """Return a reader of a field that is null for the other kinds of its topic."""
    return lambda event: getattr(event, name) if isinstance(event, shape) else None


def _of_recall(name: str) -> Callable[[Any], Any]:
    return lambda event: getattr(event.recall, name) if isinstance(event, ToolCalled) and event.recall else None


def _tokens_result(event: Any) -> int | None:
    return event.tokens.result if isinstance(event, ToolCalled) else None


_CALL = ("tool_use_id", "turn_index", "tool", "status", "ended_at")
_MESSAGE = ("message_id", "author_kind", "text", "reply_to")
_SIGNAL = ("signal", "actor", "target", "evidence")
_LETTER = {f"source_{name}": attrgetter(name) for name in ("topic", "partition", "offset", "line")}

_DERIVED: dict[str, dict[str, Callable[[Any], Any]]] = {
    "tool_events": {name: _of(ToolCalled, name) for name in _CALL}
    | {"surface": _of_recall("surface"), "result_status": _of_recall("result_status")}
    | {"kind": _kind, "tokens_result": _tokens_result},
    "messages": {name: _of(MessagePosted, name) for name in _MESSAGE} | {"kind": _kind},
    "signals": {name: _of(OutcomeSignalled, name) for name in _SIGNAL} | {"kind": _kind},
    "dead_letters": dict(_LETTER),
}
"""Columns that are no plain attribute of the decoded value."""


def _array(kind: pa.DataType, values: list[Any]) -> Any:
    """Return decoded values as an Arrow array, nested ones child by child."""
    if kind == schema.TARGET:
        return _targets(values)
    if pa.types.is_struct(kind):
        children = [_array(child.type, list(map(attrgetter(child.name), values))) for child in kind]
        return pa.StructArray.from_arrays(children, fields=list(kind))
    if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        items = _array(kind.value_type, list(chain.from_iterable(values)))
        return pa.ListArray.from_arrays(_offsets(values), items, type=kind)
    if pa.types.is_map(kind):
        pairs = list(chain.from_iterable(value.items() for value in values if value)) if any(values) else []
        names = pa.array([name for name, _ in pairs], kind.key_type)
        items = pa.array([item for _, item in pairs], kind.item_type)
        return pa.MapArray.from_arrays(_offsets(values), names, items, type=kind)
    return pa.array(values, kind)


def _offsets(values: Sequence[Sequence[Any]]) -> Any:
    return pa.array(list(accumulate(map(len, values), initial=0)), pa.int32())


def _targets(values: list[Any]) -> Any:
    """Return targets as flat structs: their kind, and null for every field that their kind does not have."""
    shapes: set[type[msgspec.Struct]] = set(map(type, values))
    arrays: list[Any] = []
    for child in schema.TARGET:
        if child.name == "kind" and len(shapes) == 1:
            arrays.append(pa.repeat(next(iter(shapes)).__struct_config__.tag, len(values)))
        elif child.name == "kind":
            tags = {shape: shape.__struct_config__.tag for shape in shapes}
            arrays.append(pa.array([tags[type(value)] for value in values], child.type))
        elif all(child.name in shape.__struct_fields__ for shape in shapes):
            arrays.append(pa.array(list(map(attrgetter(child.name), values)), child.type))
        elif any(child.name in shape.__struct_fields__ for shape in shapes):
            arrays.append(pa.array([getattr(value, child.name, None) for value in values], child.type))
        else:
            arrays.append(pa.nulls(len(values), child.type))
    return pa.StructArray.from_arrays(arrays, fields=list(schema.TARGET))
