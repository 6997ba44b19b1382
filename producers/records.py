"""Records of a source that may be JSONL or one JSON document: hook logs, exports and traces come as either."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from producers.lines import Line, Problem, as_utf8, json_lines, parse
from producers.translation import SourceFile


def records(file: SourceFile) -> Iterator[Line | Problem]:
    """Yield the objects of a file in order: its lines, the items of its one array, or its one object.

    A whole document that is still being written waits, like a half-written line.
    """
    data = as_utf8(file.data)
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not (start.startswith(b"[") or (start.startswith(b"{") and _is_pretty(start))):
        yield from json_lines(data, file.uri)
        return
    raw = bytes(data[:])
    try:
        value = parse(raw.strip(b"\xef\xbb\xbf\x00 \t\r\n"))
    except ValueError as error:
        whole = raw.rstrip(b"\x00 \t\r\n").endswith((b"]", b"}"))
        yield Problem(
            uri=file.uri,
            line=0,
            offset=0,
            reason=f"expected one JSON document, got bytes that are none: {error}"
            if whole
            else "the document is still being written, or was cut",
            kind="dead" if whole else "skipped",
            raw=raw[:4096],
        )
        return
    for number, item in enumerate(value if isinstance(value, list) else [value], start=1):
        if isinstance(item, dict):
            yield Line(number, 0, item, b"")
        else:
            reason = f"expected a JSON object as item {number}, got {type(item).__name__}"
            yield Problem(
                uri=file.uri, line=number, offset=0, reason=reason, kind="dead", raw=str(item)[:4096].encode()
            )


def _is_pretty(start: bytes) -> bool:
    """An object whose first line does not close it."""
    first = start.split(b"\n", 1)[0].rstrip(b"\r \t")
    return not first.endswith(b"}")


def text(value: Any) -> str:
    """Return a string as it is, and nothing for anything else."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    """Return an object as it is, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """Return a list as it is, and an empty one for anything else."""
    return value if isinstance(value, list) else []


def whole(value: Any) -> int | None:
    """Return an integer, given as a number or as digits, and null for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else None
