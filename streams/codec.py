"""Bytes to events and back: one JSON object a line, up to 100 lines a message.

The fast path decodes a whole message of our own schema version at once. Anything else (a newer field, an older
version, a broken line) goes line by line: unknown fields are kept in `extra`, older versions are upcast, and what
cannot be read comes back as a `BadLine` with its reason, so that the rest of the message is used and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from streams.events import (
    SCHEMA_VERSION,
    InvocationEnded,
    InvocationStarted,
    MessagePosted,
    OutcomeSignalled,
    ToolCalled,
    ToolEvent,
)
from streams.topics import MAX_EVENTS_PER_MESSAGE, MAX_MESSAGE_BYTES

LogEvent = ToolEvent | MessagePosted | OutcomeSignalled
"""Every event of the three `agent.*` topics."""

KINDS: dict[str, type[LogEvent]] = {
    "ToolCalled": ToolCalled,
    "InvocationStarted": InvocationStarted,
    "InvocationEnded": InvocationEnded,
    "MessagePosted": MessagePosted,
    "OutcomeSignalled": OutcomeSignalled,
}

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: dict[int, Upcaster] = {}
"""Schema version -> function that turns a record of that version into one of the next."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """One line of a message that is no event we can read."""

    raw: bytes
    stage: Literal["decode", "schema"]
    reason: str
    index: int
    """0-based line in the message."""


_encoder = msgspec.json.Encoder()
_fast: msgspec.json.Decoder[LogEvent] = msgspec.json.Decoder(LogEvent)


def encode(events: Sequence[LogEvent]) -> bytes:
    """Return one message value that holds these events, one JSON object a line.

    Raises:
        ValueError: for no event, more than 100 events, or more than 900 KiB.
    """
    if not 1 <= len(events) <= MAX_EVENTS_PER_MESSAGE:
        raise ValueError(f"a message holds 1 to {MAX_EVENTS_PER_MESSAGE} events, got {len(events)}")
    value = _encoder.encode_lines(events).rstrip(b"\n")
    if len(value) > MAX_MESSAGE_BYTES:
        raise ValueError(f"a message holds at most {MAX_MESSAGE_BYTES} bytes, got {len(value)}")
    return value


def batches(events: Sequence[LogEvent]) -> Iterator[bytes]:
    """Yield message values that hold these events in order, each as full as the limits allow.

    Raises:
        ValueError: when a single event is larger than a message may be.
    """
    lines: list[bytes] = []
    size = 0
    for event in events:
        line = _encoder.encode(event)
        if len(line) > MAX_MESSAGE_BYTES:
            raise ValueError(f"event {event.event_id} has {len(line)} bytes, at most {MAX_MESSAGE_BYTES} fit a message")
        if lines and (len(lines) == MAX_EVENTS_PER_MESSAGE or size + len(line) + 1 > MAX_MESSAGE_BYTES):
            yield b"\n".join(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line) + 1
    if lines:
        yield b"\n".join(lines)


def decode(value: bytes) -> tuple[list[LogEvent], list[BadLine]]:
    """Return the events of a message in order, and the lines that are none. Never raises for bad bytes."""
    try:
        events = _fast.decode_lines(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_slowly(value)
    for event in events:
        if event.schema_version != SCHEMA_VERSION:
            return _decode_slowly(value)
    return events, []


def _decode_slowly(value: bytes) -> tuple[list[LogEvent], list[BadLine]]:
    events: list[LogEvent] = []
    bad: list[BadLine] = []
    for index, line in enumerate(value.split(b"\n")):
        if not line.strip():
            continue
        result = decode_line(line, index)
        if isinstance(result, BadLine):
            bad.append(result)
        else:
            events.append(result)
    return events, bad


def decode_line(line: bytes, index: int = 0) -> LogEvent | BadLine:
    """Return the event of one line, upcast and with its unknown fields in `extra`, or say why it is none."""
    failure: Exception | None = None
    try:
        event = _fast.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        failure = error
    else:
        if event.schema_version == SCHEMA_VERSION:
            return event
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return BadLine(line, "decode", f"expected a JSON object, got bytes that are none: {error}", index)
    if not isinstance(record, dict):
        return BadLine(line, "decode", f"expected a JSON object, got {type(record).__name__}", index)
    kind = record.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        return BadLine(line, "schema", f"expected kind in {sorted(KINDS)}, got {kind!r}", index)
    try:
        return _convert(record)
    except (msgspec.ValidationError, ValueError, TypeError, KeyError) as error:
        seen = f" (as of version {SCHEMA_VERSION}: {failure})" if failure is not None else ""
        return BadLine(line, "schema", f"{kind}: {error}{seen}", index)


def _convert(record: dict[str, Any]) -> LogEvent:
    version = record.get("schema_version", SCHEMA_VERSION)
    if not isinstance(version, int) or version < SCHEMA_VERSION - 1 or version > SCHEMA_VERSION + 1:
        raise ValueError(f"expected schema_version within one of {SCHEMA_VERSION}, got {version!r}")
    if version < SCHEMA_VERSION:
        record = UPCASTERS[version](record)
    shape = KINDS[record["kind"]]
    known, unknown = _split(record, shape)
    if unknown:
        known["extra"] = {**known.get("extra", {}), **unknown}
    event: LogEvent = msgspec.convert(known, LogEvent)
    return event


def _split(record: dict[str, Any], shape: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Part a record into what its shape knows and the rest; nested structs give up unknown fields as `a.b`."""
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(shape)} | {"kind": str}
    known: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    for name, value in record.items():
        if name not in fields:
            unknown[name] = value
            continue
        inner = _struct_in(fields[name])
        if inner is not None and isinstance(value, dict):
            value, rest = _split(value, inner)
            unknown |= {f"{name}.{key}": item for key, item in rest.items()}
        known[name] = value
    return known, unknown


def _struct_in(annotation: Any) -> type[msgspec.Struct] | None:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    for part in getattr(annotation, "__args__", ()):
        if isinstance(part, type) and issubclass(part, msgspec.Struct):
            return part
    return None
