"""OTLP/HTTP JSON to flat spans and log records: what every trace of tool calls comes in.

Ids are hex of any case, 64-bit numbers may be text, lists and maps may be structured or JSON in a string, and fields
that nobody knows are passed over. Source: OpenTelemetry protocol 1.x, JSON encoding.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from producers.records import mapping, sequence, text, whole
from producers.times import from_nanos


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span, or one log record, whose start and end are the same."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start: datetime
    end: datetime
    attributes: Mapping[str, Any]
    service: str
    failed: bool
    is_log: bool = False


def spans(payload: Mapping[str, Any]) -> Iterator[Span | str]:
    """Yield the spans and log records of a request in order, or the reason why one cannot be read."""
    for group in sequence(payload.get("resourceSpans")):
        service = _service(group)
        for scope in sequence(mapping(group).get("scopeSpans")):
            for span in sequence(mapping(scope).get("spans")):
                yield _span(mapping(span), service)
    for group in sequence(payload.get("resourceLogs")):
        service = _service(group)
        for scope in sequence(mapping(group).get("scopeLogs")):
            for record in sequence(mapping(scope).get("logRecords")):
                yield _log(mapping(record), service)


def _service(group: Any) -> str:
    return text(attributes(mapping(mapping(group).get("resource")).get("attributes")).get("service.name"))


def _span(span: Mapping[str, Any], service: str) -> Span | str:
    start, end = from_nanos(span.get("startTimeUnixNano")), from_nanos(span.get("endTimeUnixNano"))
    trace_id, span_id = text(span.get("traceId")).lower(), text(span.get("spanId")).lower()
    if start is None or not trace_id or not span_id:
        return "expected a span with traceId, spanId and startTimeUnixNano, got one without"
    return Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=text(span.get("parentSpanId")).lower(),
        name=text(span.get("name")),
        start=start,
        end=max(end or start, start),
        attributes=attributes(span.get("attributes")),
        service=service,
        failed=mapping(span.get("status")).get("code") in (2, "STATUS_CODE_ERROR"),
    )


def _log(record: Mapping[str, Any], service: str) -> Span | str:
    at = from_nanos(record.get("timeUnixNano")) or from_nanos(record.get("observedTimeUnixNano"))
    if at is None:
        return "expected a log record with timeUnixNano, got one without"
    found = attributes(record.get("attributes"))
    name = text(record.get("eventName")) or text(found.get("event.name")) or text(_value(record.get("body")))
    return Span(
        trace_id=text(record.get("traceId")).lower(),
        span_id=text(record.get("spanId")).lower(),
        parent_id="",
        name=name,
        start=at,
        end=at,
        attributes=found,
        service=service,
        failed=False,
        is_log=True,
    )


def attributes(items: Any) -> dict[str, Any]:
    """Return a list of `{key, value}` as a plain mapping."""
    return {
        text(mapping(item).get("key")): _value(mapping(item).get("value"))
        for item in sequence(items)
        if mapping(item).get("key")
    }


def _value(value: Any) -> Any:
    """Return what an AnyValue holds."""
    held = mapping(value)
    if "stringValue" in held:
        return held["stringValue"]
    if "intValue" in held:
        return whole(held["intValue"])
    if "arrayValue" in held:
        return [_value(item) for item in sequence(mapping(held["arrayValue"]).get("values"))]
    if "kvlistValue" in held:
        return attributes(mapping(held["kvlistValue"]).get("values"))
    return next((held[name] for name in ("doubleValue", "boolValue", "bytesValue") if name in held), None)


def structured(value: Any) -> Any:
    """Return a value that may be structured or JSON in a string."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def unflatten(found: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Return the list that flat names `prefix.<i>.<rest>` spell, in the order of their numbers; gaps close."""
    items: dict[int, dict[str, Any]] = {}
    for name, value in found.items():
        if name.startswith(f"{prefix}."):
            index, _, rest = name[len(prefix) + 1 :].partition(".")
            if index.isdigit() and rest:
                items.setdefault(int(index), {})[rest] = value
    return [items[index] for index in sorted(items)]
