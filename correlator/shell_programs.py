"""Programs on a command line: which files a Python or Node text opens by literal name."""

from __future__ import annotations

import re

from correlator.shell_options import Doing, Operand

_OPENS = re.compile(r"""\bopen\(\s*[rbf]?(['"])([^'"\n]+)\1\s*(?:,\s*(?:mode\s*=\s*)?['"]([rwaxbt+]+)['"])?""")
_PATH_READS = re.compile(r"""\bPath\(\s*[rf]?(['"])([^'"\n]+)\1\s*\)\.(read|write)_(?:text|bytes)\(""")
_NODE_FILES = re.compile(r"""\b(read|write)FileSync\(\s*(['"`])([^'"`\n]+)\2""")


def interpret_program(text: str) -> Doing:
    """Return which files a Python or Node program on the command line opens by literal name."""
    found: list[tuple[int, str, bool]] = []
    for match in _OPENS.finditer(text):
        found.append((match.start(), match.group(2), bool(set(match.group(3) or "") & set("wax+"))))
    for match in _PATH_READS.finditer(text):
        found.append((match.start(), match.group(2), match.group(3) == "write"))
    for match in _NODE_FILES.finditer(text):
        found.append((match.start(), match.group(3), match.group(1) == "write"))
    found.sort()
    shown = tuple(Operand(path) for _, path, writes in found if not writes) if "print" in text or "log(" in text else ()
    written = tuple(path for _, path, writes in found if writes)
    return Doing("read" if shown else "write" if written else "other", shown, written)
