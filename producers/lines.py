"""Bytes of a JSONL file to records, whatever happened to the file: line by line, each failure with its place.

Lines end at byte 0x0A and nowhere else: U+2028 inside a string is no line end. A byte order mark, NUL padding, CR,
blank lines, UTF-16 and bytes that are no UTF-8 are taken as they come; a last line that is still being written waits.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Longest line that is read; real ones reach 1 MB, with pasted images 50 MB."""

ByteSource = bytes | mmap.mmap
"""A file's bytes, in memory or mapped."""

_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A piece of a source that became no event."""

    uri: str
    line: int
    """1-based; 0 when the whole file is meant."""
    offset: int
    reason: str
    kind: Literal["dead", "skipped"]
    """`dead` goes to the dead letters with its bytes; `skipped` needs no care, or will come again."""
    stage: Literal["decode", "schema", "translate"] = "decode"
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Line:
    """One record of a file."""

    number: int
    """1-based."""
    offset: int
    value: dict[str, Any]
    raw: bytes


def json_lines(data: ByteSource, uri: str) -> Iterator[Line | Problem]:
    """Yield every record of a JSONL file in order, or the problem in its place. Never raises for bad bytes."""
    data = as_utf8(data)
    size, start, number = len(data), 0, 0
    while start < size:
        newline = data.find(b"\n", start)
        end = size if newline < 0 else newline
        number += 1
        item = _record(data, start, end, number, uri, complete=newline >= 0)
        if item is not None:
            yield item
        start = end + 1


def _record(data: ByteSource, start: int, end: int, number: int, uri: str, *, complete: bool) -> Line | Problem | None:
    if end - start > MAX_LINE_BYTES:
        reason = f"expected a line of at most {MAX_LINE_BYTES} bytes, got {end - start}"
        return Problem(
            uri=uri, line=number, offset=start, reason=reason, kind="dead", raw=bytes(data[start : start + 4096])
        )
    raw = bytes(data[start:end])
    text = raw.strip(b"\x00 \t\r")
    if number == 1:
        text = text.removeprefix(b"\xef\xbb\xbf")
    if not text:
        return None
    try:
        value = parse(text)
    except ValueError as error:
        if not complete:
            reason = "the last line is still being written"
            return Problem(uri=uri, line=number, offset=start, reason=reason, kind="skipped")
        reason = f"expected a JSON object, got bytes that are none: {error}"
        return Problem(uri=uri, line=number, offset=start, reason=reason, kind="dead", raw=raw)
    if not isinstance(value, dict):
        reason = f"expected a JSON object, got {type(value).__name__}"
        return Problem(uri=uri, line=number, offset=start, reason=reason, kind="dead", raw=raw)
    return Line(number, start, value, raw)


def parse(text: bytes) -> Any:
    """Return the JSON value of some bytes, tolerant of control characters, lone surrogates and bytes that are no UTF-8.

    Raises:
        ValueError: when they are no JSON all the same.
    """
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(text.decode("utf-8", "replace"), strict=False)
    except RecursionError:
        raise ValueError("nested too deep") from None


def as_utf8(data: ByteSource) -> ByteSource:
    """Return the bytes as UTF-8 where their byte order mark says UTF-16, else as they are."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return bytes(data[:]).decode("utf-16", "replace").encode()
    return data
