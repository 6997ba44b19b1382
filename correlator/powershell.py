"""PowerShell's file commands: enough of its grammar to tell what is read, searched, listed or written."""

from __future__ import annotations

import re
from collections.abc import Sequence

from correlator.shell_commands import OTHER
from correlator.shell_options import Doing, Operand

_CMDLET = re.compile(
    r"(?:^|[;|({=]\s*)(?:get-content|select-string|set-content|add-content|out-file|get-childitem|gc|sls|gci)\b", re.I
)
_TOKEN = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"`]|`.)*)"|([^\s;|,'"]+)|(,)""")
_SEGMENT = re.compile(r"""((?:'[^']*'|"[^"]*"|[^;|\n'"])+)""")
_VALUED = frozenset(
    {
        "-path",
        "-literalpath",
        "-pattern",
        "-totalcount",
        "-first",
        "-head",
        "-tail",
        "-last",
        "-encoding",
        "-include",
        "-exclude",
        "-filter",
        "-context",
        "-value",
        "-filepath",
        "-delimiter",
        "-readcount",
        "-width",
    }
)
_READS = frozenset({"get-content", "gc", "cat", "type"})
_SEARCHES = frozenset({"select-string", "sls"})
_LISTS = frozenset({"get-childitem", "gci", "ls", "dir"})
_WRITES = frozenset({"set-content", "add-content", "out-file", "sc", "ac"})


CMDLETS = _READS | _SEARCHES | _LISTS | _WRITES
"""Every command in these tables, in lower case."""


def is_powershell(command: str) -> bool:
    """Whether a command is written for PowerShell: a cmdlet stands where a command begins."""
    return _CMDLET.search(command.lstrip()) is not None


def interpret_powershell(command: str) -> Doing:
    """Return what a PowerShell command does, all its segments together."""
    shown: list[Operand] = []
    written: list[str] = []
    kind = OTHER.kind
    listed = False
    for segment in _SEGMENT.findall(command):
        doing = _segment(_tokens(segment), listed=listed)
        listed = doing.kind == "discovery"
        shown.extend(doing.files)
        written.extend(doing.written)
        kind = doing.kind if doing.kind != "other" else kind
    if written and re.search(r"\|\s*(?:set-content|out-file|add-content)", command, re.I):
        return Doing("write", written=tuple(written))
    return Doing(kind, tuple(shown), tuple(written))


def _tokens(segment: str) -> list[str]:
    found = (next((group for group in match.groups() if group), "") for match in _TOKEN.finditer(segment.strip()))
    return [text for text in found if text]


def _segment(tokens: Sequence[str], *, listed: bool) -> Doing:
    while tokens and (tokens[0].startswith("$") or tokens[0] in ("=", "&")):
        tokens = tokens[1:]
    if not tokens:
        return OTHER
    name, named, operands = tokens[0].lower().lstrip("("), *_sorted(tokens[1:])
    paths = named.get("-path", []) + named.get("-literalpath", []) + named.get("-filepath", [])
    if name in _READS:
        return Doing("read", tuple(Operand(path) for path in _files(paths or operands)))
    if name in _SEARCHES:
        files = _files(paths or operands[0 if "-pattern" in named else 1 :])
        tree = listed or not files
        return Doing("search_tree") if tree else Doing("search_in", tuple(Operand(path, "search") for path in files))
    if name in _WRITES:
        return Doing("write", written=tuple(_files(paths or operands[:1])))
    return Doing("discovery") if name in _LISTS else OTHER


def _sorted(tokens: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Part named parameters from operands; a comma joins several values of one parameter."""
    named: dict[str, list[str]] = {}
    operands: list[str] = []
    into: list[str] | None = None
    joined = False
    for token in tokens:
        if token == ",":
            joined = True
        elif token.startswith("-") and len(token) > 1 and not token[1].isdigit():
            into = named.setdefault(token.lower(), []) if token.lower() in _VALUED else None
        else:
            target = into if into is not None and (joined or not into) else operands
            target.append(token.rstrip(")"))
            joined = False
    return named, operands


def _files(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if not re.search(r"[*?]|^\$", text)]
