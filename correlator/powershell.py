"""PowerShell's file commands: enough of its grammar to tell what is read, searched, listed or written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from correlator.shell_commands import OTHER, interpret
from correlator.shell_options import NO_LINES, Doing, Operand, Word

_CMDLET = re.compile(
    r"(?:^|[;|({=]\s*)(?:get-content|select-string|set-content|add-content|out-file|get-childitem|gc|sls|gci"
    r"|(?:remove|move|copy|rename)-item)\b",
    re.I,
)
_TOKEN = re.compile(r"""'((?:[^']|'')*)'|"((?:[^"`]|`.)*)"|([^\s;|,'"]+)|(,)""")
_INDEX = re.compile(r"\)\s*\[[^\]]*\]?$")
"""`(Get-Content a.md)[0..9]`: what follows the closing bracket is no part of the name."""
_SEGMENT = re.compile(r"""((?:'[^']*'|"[^"]*"|[^;|\n'"{}])+)""")
_VALUED = frozenset(
    {
        "-path",
        "-literalpath",
        "-pattern",
        "-totalcount",
        "-first",
        "-skip",
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
        "-destination",
    }
)
_READS = frozenset({"get-content", "gc", "cat", "type"})
_SEARCHES = frozenset({"select-string", "sls"})
_LISTS = frozenset({"get-childitem", "gci", "ls", "dir"})
_WRITES = frozenset({"set-content", "add-content", "out-file", "sc", "ac"})
_REMOVES = frozenset({"remove-item", "move-item", "rename-item", "del", "erase", "move", "ren"})
_COPIES = frozenset({"copy-item", "copy"})


CMDLETS = _READS | _SEARCHES | _LISTS | _WRITES | _REMOVES | _COPIES
"""Every command in these tables, in lower case."""


def is_powershell(command: str) -> bool:
    """Whether a command is written for PowerShell: a cmdlet stands where a command begins."""
    return _CMDLET.search(command.lstrip()) is not None


def interpret_powershell(command: str) -> Doing:
    """Return what a PowerShell command does, all its segments together."""
    doings: list[Doing] = []
    listed = False
    for segment in _SEGMENT.findall(command):
        tokens = _tokens(segment)
        if tokens and tokens[0].lower() in ("select-object", "select") and doings:
            doings[-1] = _selected(doings[-1], tokens[1:])
            continue
        doings.append(_segment(tokens, listed=listed))
        listed = doings[-1].kind == "discovery" or (listed and doings[-1].kind == "other")
    written = tuple(path for doing in doings for path in doing.written)
    if written and re.search(r"\|\s*(?:set-content|out-file|add-content)", command, re.I):
        return Doing("write", written=written)
    kind = next((doing.kind for doing in reversed(doings) if doing.kind != "other"), OTHER.kind)
    return Doing(kind, tuple(file for doing in doings for file in doing.files), written)


def _selected(doing: Doing, tokens: Sequence[str]) -> Doing:
    """`Get-Content a.md | Select-Object -Skip 10 -First 5` shows five lines."""
    named, _ = _sorted(tokens)
    skip, first = _number(named, "-skip") or 0, _number(named, "-first")
    if len(doing.files) != 1 or not (skip or first) or doing.files[0].lines != NO_LINES:
        return doing
    lines = (skip + 1, skip + first if first else None)
    return replace(doing, files=(replace(doing.files[0], lines=lines),))


def _number(named: Mapping[str, Sequence[str]], *names: str) -> int | None:
    given = next((named[name][0] for name in names if named.get(name)), "")
    return int(given) if given.isdigit() else None


def _tokens(segment: str) -> list[str]:
    found = (next((group for group in match.groups() if group), "") for match in _TOKEN.finditer(segment.strip()))
    return [text for text in found if text]


def _segment(tokens: Sequence[str], *, listed: bool) -> Doing:
    tokens = [token for token in tokens if not _NOT_OUTPUT.match(token)]
    while tokens and (tokens[0].startswith("$") or tokens[0] in ("=", "&")):
        tokens = tokens[1:]
    at = next((at for at, token in enumerate(tokens) if _REDIRECT.fullmatch(token)), None)
    if at is not None:
        target = tokens[at].lstrip("1*>") or "".join(tokens[at + 1 : at + 2])
        return Doing("write", written=tuple(_files([target])))
    if not tokens:
        return OTHER
    name, named, operands = tokens[0].lower().lstrip("("), *_sorted(tokens[1:])
    paths = [path for key in ("-path", "-literalpath", "-filepath", "-destination") for path in named.get(key, [])]
    if name in _READS:
        count = _number(named, "-totalcount", "-first", "-head")
        lines = (1, count) if count else NO_LINES
        return Doing("read", tuple(Operand(path, lines=lines) for path in _files(paths or operands)))
    if name in _SEARCHES:
        return _search(paths or operands[0 if "-pattern" in named else 1 :], listed=listed)
    if name in _WRITES:
        return Doing("write", written=tuple(_files(paths or operands[:1])))
    if name in _REMOVES:
        return Doing("write", written=tuple(_files([*paths, *operands])))
    if name in _COPIES:
        return Doing("write", written=tuple(_files([*operands, *paths])[-1:]))
    if name in _LISTS:
        return Doing("discovery")
    return interpret(name, [Word(token) for token in tokens[1:]], piped=False)


_NOT_OUTPUT = re.compile(r"[2-6]>|[1*]?>>?&\d")
_REDIRECT = re.compile(r"[1*]?>>?(?![&$]).*")


def _search(given: Sequence[str], *, listed: bool) -> Doing:
    """Without a path it searches what comes in by the pipe: the tree, or what was read before."""
    files = _files(given)
    if listed or (given and not files):
        return Doing("search_tree")
    return Doing("search_in", tuple(Operand(path, "search") for path in files)) if files else OTHER


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
            target.append(_INDEX.sub("", token).rstrip(")"))
            joined = False
    return named, operands


def _files(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if not re.search(r"[*?]|^\$", text)]
