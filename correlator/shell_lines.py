"""Which lines of a file a shell command shows, where its options or its script name them plainly."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from correlator.shell_options import NO_LINES, Lines, Parsed, long_options

_BYTES = long_options("c bytes")


def _head_lines(parsed: Parsed) -> Lines:
    count = "" if parsed.has(_BYTES) else parsed.value("n", "lines", "#") or "10"
    return (1, int(count)) if count.isdigit() else NO_LINES


def _tail_lines(parsed: Parsed) -> Lines:
    start = parsed.value("n", "lines") or next((word.text for word in parsed.operands if word.text[:1] == "+"), "")
    return (int(start[1:]), None) if re.fullmatch(r"\+\d+", start) else NO_LINES


def _bat_lines(parsed: Parsed) -> Lines:
    found = re.fullmatch(r"(\d*)(:?)(\d*)", parsed.value("r", "line-range") or "")
    if found is None or not (found[1] or found[3]):
        return NO_LINES
    first = int(found[1] or 1)
    return first, int(found[3]) if found[3] else None if found[2] else first


SHOWN_LINES: Mapping[str, Callable[[Parsed], Lines]] = {"head": _head_lines, "tail": _tail_lines, "bat": _bat_lines}
"""Readers that may show a part of a file only, by line numbers that their options name."""

_SED_LINES = re.compile(r"(\d+)(?:,(\d+|\$|\+\d+))?p(?:;\d+q)?")
_SED_QUITS = re.compile(r"(\d+)q")
_AWK_LINES = re.compile(r"NR(?:>=|==)(\d+)(?:(?:&&NR<=|,NR==)(\d+))?(?:\{print(?:\$0)?;?\})?")


def script_lines(name: str, script: str, parsed: Parsed) -> Lines:
    """Return the lines that a script lets out, when it is one plain address."""
    if name == "awk":
        found = _AWK_LINES.fullmatch(script.replace(" ", ""))
        exact = found is not None and ("==" in found[0].partition(",")[0])
        return (int(found[1]), int(found[2] or found[1]) if found[2] or exact else None) if found else NO_LINES
    if name != "sed":
        return NO_LINES
    if found := _SED_QUITS.fullmatch(script):
        return 1, int(found[1])
    found = _SED_LINES.fullmatch(script) if parsed.has(_QUIET) else None
    if found is None:
        return NO_LINES
    first, last = int(found[1]), found[2] or found[1]
    return first, None if last == "$" else first + int(last) if last[0] == "+" else int(last)


_QUIET = long_options("n quiet silent")
