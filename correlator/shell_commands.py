"""The shell commands that read, search, list or change files, as a table with the grammar of their options.

`interpret` takes the words of one simple command and says what it does with which files. A command that stands in no
table is `other`. Sources: the manual pages of GNU coreutils, sed, grep and findutils, of ripgrep, ag, ack, bat, jq
and git.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

ShellClass = Literal["read", "search_in", "search_tree", "discovery", "write", "other"]


class Word(NamedTuple):
    """One word of a command after expansion."""

    text: str
    known: bool = True
    """False when a part of it only the shell could tell."""
    glob: bool = False
    """An unquoted `*`, `?` or `[`: it names files, but which?"""


class Operand(NamedTuple):
    """A file whose content a command shows."""

    path: str
    op: Literal["read", "search"] = "read"
    lines: tuple[int | None, int | None] = (None, None)
    maybe_directory: bool = False
    """A recursive search was given a name that may well be a folder's."""


@dataclass(frozen=True, slots=True)
class Doing:
    """What one simple command does."""

    kind: ShellClass
    files: tuple[Operand, ...] = ()
    written: tuple[str, ...] = ()
    passes_on: bool = False
    """What comes in by a pipe goes out again, at least in part."""


OTHER = Doing("other")


@dataclass(frozen=True, slots=True)
class Options:
    """The grammar of a command's options."""

    short: str = ""
    """Letters that take a value, in the same word or the next."""
    long: frozenset[str] = frozenset()
    """Long options that take a value in the next word (`--name=value` is always understood)."""


@dataclass(slots=True)
class Parsed:
    """A command's words, sorted into flags and operands."""

    flags: list[tuple[str, str | None]] = field(default_factory=list)
    operands: list[Word] = field(default_factory=list)

    def has(self, *names: str) -> bool:
        """Whether any of these options was given."""
        return any(flag in names for flag, _ in self.flags)

    def value(self, *names: str) -> str | None:
        """Value of the first of these options, or null."""
        return next((value for flag, value in self.flags if flag in names), None)


def parse_options(words: Sequence[Word], options: Options) -> Parsed:
    """Sort words into flags and operands; `--` ends the options, a lone `-` is an operand."""
    parsed = Parsed()
    rest = iter(words)
    for word in rest:
        text = word.text
        if text == "--":
            parsed.operands.extend(rest)
        elif text.startswith("--"):
            name, equals, value = text[2:].partition("=")
            if not equals and name in options.long:
                value = _next(rest)
            parsed.flags.append((name, value if equals or name in options.long else None))
        elif len(text) > 1 and text[0] == "-":
            _short(text[1:], rest, options.short, parsed)
        else:
            parsed.operands.append(word)
    return parsed


def _short(cluster: str, rest: Iterable[Word], valued: str, parsed: Parsed) -> None:
    for at, letter in enumerate(cluster):
        if letter in valued:
            value = cluster[at + 1 :] or _next(rest)
            parsed.flags.append((letter, value))
            return
        if letter.isdigit():
            parsed.flags.append(("#", cluster[at:]))
            return
        parsed.flags.append((letter, None))


def _next(rest: Iterable[Word]) -> str:
    return next(iter(rest), Word("")).text


def _long(names: str) -> frozenset[str]:
    return frozenset(names.split())


READERS: Mapping[str, Options] = {
    "cat": Options(),
    "tac": Options("s"),
    "nl": Options("bdfhilnsvw"),
    "head": Options("nc", _long("lines bytes")),
    "tail": Options("ncs", _long("lines bytes sleep-interval pid")),
    "less": Options("pPtTxyzDbhjkoO"),
    "more": Options("n"),
    "bat": Options(
        "rlHm", _long("line-range language highlight-line style theme tabs wrap color paging terminal-width map-syntax")
    ),
    "sort": Options("ktoST", _long("key field-separator output")),
    "uniq": Options("fsw"),
    "cut": Options("dfcb", _long("delimiter fields characters bytes")),
    "column": Options("socN"),
    "fold": Options("w"),
    "fmt": Options("w"),
    "paste": Options("d"),
    "join": Options("t12oae"),
    "comm": Options(),
    "rev": Options(),
    "expand": Options("t"),
    "strings": Options("nt"),
    "xxd": Options("lsc"),
    "od": Options("AjNtw"),
    "hexdump": Options("ns"),
    "zcat": Options(),
    "diff": Options("UCIxW", _long("unified context label exclude")),
    "sdiff": Options("w"),
    "glow": Options("w"),
}
"""Commands that show the files they are given."""

ALIASES: Mapping[str, str] = {
    "batcat": "bat",
    "gsed": "sed",
    "gawk": "awk",
    "mawk": "awk",
    "nawk": "awk",
    "zless": "less",
    "most": "less",
    "egrep": "grep",
    "fgrep": "grep",
    "zgrep": "grep",
    "ggrep": "grep",
    "ripgrep": "rg",
    "ack-grep": "ack",
    "fdfind": "fd",
    "gcat": "cat",
    "ghead": "head",
    "gtail": "tail",
    "colordiff": "diff",
    "yq": "jq",
}

SCRIPTED: Mapping[str, Options] = {
    "sed": Options("efl", _long("expression file line-length")),
    "awk": Options("Fvf", _long("field-separator assign file")),
    "jq": Options("fL", _long("from-file indent")),
}
"""Commands whose first operand is a script unless an option brings it."""

_GREP_LONG = _long(
    "regexp file after-context before-context context max-count include exclude exclude-dir exclude-from label"
    " binary-files directories devices group-separator"
)
_RG_LONG = _long(
    "regexp file after-context before-context context max-count glob iglob type type-not max-depth maxdepth max-columns"
    " max-filesize sort sortr color colors engine encoding type-add type-clear context-separator hyperlink-format"
    " field-match-separator field-context-separator pre pre-glob replace threads path-separator dfa-size-limit"
    " regex-size-limit ignore-file"
)

SEARCHERS: Mapping[str, tuple[Options, bool]] = {
    "grep": (Options("efABCmdD", _GREP_LONG), False),
    "rg": (Options("efABCmgtTjMdEr", _RG_LONG), True),
    "ag": (Options("ABCGmpW", _long("after before context file-search-regex max-count depth ignore ignore-dir")), True),
    "ack": (
        Options("ABCmg", _long("after-context before-context context max-count type ignore-dir ignore-file")),
        True,
    ),
}
"""Searching command -> its options, and whether it walks the tree by itself."""

_NAMES_ONLY = ("l", "L", "c", "q", "Z", "files-with-matches", "files-without-match", "count", "count-matches", "quiet")
_PATTERN_GIVEN = ("e", "f", "regexp", "file")
_LISTS_FILES = ("files", "type-list", "version", "help")

DISCOVERY = frozenset(
    {"ls", "find", "fd", "tree", "exa", "eza", "dir", "locate", "which", "whereis", "pwd", "realpath"}
)
"""Commands that tell of files, not their content."""

FILTERS = frozenset({"tr", "tee", "sponge", "ts", "nl", "pr", "iconv", "dos2unix", "ansi2txt"})
"""Commands without files of their own that pass on what comes in by a pipe."""

WRITES_ALL = frozenset({"rm", "touch", "unlink", "shred", "truncate", "rmdir"})
WRITES_LAST = frozenset({"cp", "ln", "install", "rsync"})
_WRITE_OPTIONS: Mapping[str, Options] = {
    "truncate": Options("sr", _long("size reference")),
    "touch": Options("drt", _long("date reference")),
    "cp": Options("tS", _long("target-directory")),
    "install": Options("mogt"),
}


def interpret(name: str, words: Sequence[Word], *, piped: bool) -> Doing:
    """Return what a simple command does.

    Args:
        name: The command without its directory.
        words: Its arguments.
        piped: Whether its input comes from a pipe, a here-document or a file.
    """
    name = ALIASES.get(name, name)
    if name in READERS:
        return _reader(name, parse_options(words, READERS[name]))
    if name in SCRIPTED:
        return _scripted(name, parse_options(words, SCRIPTED[name]))
    if name in SEARCHERS:
        options, recursive = SEARCHERS[name]
        return _searcher(parse_options(words, options), piped=piped, recursive=recursive)
    if name in WRITERS:
        return WRITERS[name](words)
    if name in DISCOVERY:
        return _find(words) if name == "find" else Doing("discovery")
    if name in FILTERS:
        written = tuple(word.text for word in words if word.known and not word.text.startswith("-"))
        return Doing("write" if written else "other", written=written if name == "tee" else (), passes_on=True)
    if name in WRITES_ALL or name in WRITES_LAST:
        operands = _names(parse_options(words, _WRITE_OPTIONS.get(name, Options())).operands)
        return Doing("write", written=tuple(operands if name in WRITES_ALL else operands[-1:]))
    return OTHER


def _names(operands: Iterable[Word]) -> list[str]:
    return [word.text for word in operands if word.known and not word.glob and word.text not in ("", "-")]


def _reader(name: str, parsed: Parsed) -> Doing:
    lines: tuple[int | None, int | None] = (None, None)
    if name == "head":
        count = parsed.value("n", "lines", "#")
        lines = (1, int(count)) if count and count.isdigit() else lines
    if name == "bat" and (found := re.fullmatch(r"(\d+):(\d+)", parsed.value("r", "line-range") or "")):
        lines = (int(found.group(1)), int(found.group(2)))
    names = [text for text in _names(parsed.operands) if not text.startswith("+")]
    return Doing("read", tuple(Operand(text, "read", lines) for text in names), passes_on=True)


_SED_LINES = re.compile(r"(\d+)(?:,(\d+))?p")


def _scripted(name: str, parsed: Parsed) -> Doing:
    operands = parsed.operands
    if name == "jq":
        operands = _without_jq_arguments(parsed)
    script = parsed.value("e", "f", "expression", "file", "from-file")
    if script is None and operands:
        script, operands = operands[0].text, operands[1:]
    names = _names(operands)
    if (name == "sed" and parsed.has("i", "in-place")) or (name == "awk" and parsed.value("i") == "inplace"):
        return Doing("write", written=tuple(names))
    if name == "awk":
        names = [text for text in names if not re.match(r"[A-Za-z_]\w*=", text)]
    found = _SED_LINES.fullmatch(script or "") if name == "sed" else None
    lines = (int(found.group(1)), int(found.group(2) or found.group(1))) if found else (None, None)
    return Doing("read", tuple(Operand(text, "read", lines) for text in names), passes_on=True)


def _without_jq_arguments(parsed: Parsed) -> list[Word]:
    """`--arg name value` takes two words."""
    pairs = sum(flag in ("arg", "argjson", "slurpfile", "rawfile") for flag, _ in parsed.flags)
    return parsed.operands[2 * pairs :]


def _searcher(parsed: Parsed, *, piped: bool, recursive: bool) -> Doing:
    if parsed.has(*_LISTS_FILES):
        return Doing("discovery")
    operands = parsed.operands
    if not parsed.has(*_PATTERN_GIVEN):
        operands = operands[1:]
    recursive = recursive or parsed.has("r", "R", "recursive", "dereference-recursive")
    names_only = parsed.has(*_NAMES_ONLY)
    if not operands:
        tree = recursive and not piped
        return Doing("search_tree") if tree else Doing("other", passes_on=not names_only)
    if any(word.glob or _is_directory(word.text) for word in operands):
        return Doing("search_tree", _searched(operands, recursive) if not names_only else ())
    files = _searched(operands, recursive)
    if names_only:
        return Doing("search_tree" if any(file.maybe_directory for file in files) else "discovery")
    return Doing("search_in", files, passes_on=True)


def _searched(operands: Sequence[Word], recursive: bool) -> tuple[Operand, ...]:
    named = [text for text in _names(operands) if not _is_directory(text)]
    return tuple(Operand(text, "search", maybe_directory=recursive and _may_be_directory(text)) for text in named)


def _is_directory(text: str) -> bool:
    return text.endswith("/") or text.rpartition("/")[2] in (".", "..", "~")


def _may_be_directory(text: str) -> bool:
    """A name without a dot and not written like `Makefile` or `LICENSE` is more often a folder's."""
    name = text.rpartition("/")[2]
    return "." not in name.lstrip(".") and not name[:1].isupper()


def _find(words: Sequence[Word]) -> Doing:
    texts = [word.text for word in words]
    for at, text in enumerate(texts):
        if text in ("-exec", "-execdir", "-ok") and at + 1 < len(texts):
            inner = texts[at + 1].rpartition("/")[2]
            return Doing("search_tree" if ALIASES.get(inner, inner) in SEARCHERS else "other")
    return Doing("discovery")


def _move(words: Sequence[Word]) -> Doing:
    return Doing("write", written=tuple(_names(parse_options(words, Options("tS")).operands)))


def _dd(words: Sequence[Word]) -> Doing:
    return Doing("write", written=tuple(word.text[3:] for word in words if word.text.startswith("of=")))


def _perl(words: Sequence[Word]) -> Doing:
    in_place = any(re.match(r"-[a-zA-Z]*i", word.text) and not word.text.startswith("--") for word in words)
    parsed = parse_options(words, Options("eEIMm"))
    return Doing("write", written=tuple(_names(parsed.operands))) if in_place else OTHER


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


def _git(words: Sequence[Word]) -> Doing:
    parsed_at = 0
    while parsed_at < len(words) and words[parsed_at].text.startswith("-"):
        parsed_at += 2 if words[parsed_at].text in ("-C", "-c", "--git-dir", "--work-tree") else 1
    if parsed_at >= len(words):
        return OTHER
    command, rest = words[parsed_at].text, words[parsed_at + 1 :]
    if command == "grep":
        options, _ = SEARCHERS["grep"]
        return _searcher(parse_options(rest, options), piped=False, recursive=True)
    if command in ("ls-files", "ls-tree", "status"):
        return Doing("discovery")
    operands = parse_options(rest, Options("nGSLUO")).operands
    if command in ("show", "cat-file"):
        names = [text.partition(":")[2] for text in _names(operands) if ":" in text]
        return Doing("read", tuple(Operand(text) for text in names if text), passes_on=True) if names else OTHER
    if command in ("blame", "annotate"):
        names = _names(operands)[-1:]
        return Doing("read", tuple(Operand(text) for text in names), passes_on=True)
    if command in ("mv", "rm", "restore"):
        return Doing("write", written=tuple(_names(operands)))
    if command == "checkout" and any(word.text == "--" for word in rest):
        after = [word.text for word in rest].index("--")
        return Doing("write", written=tuple(_names(rest[after + 1 :])))
    return OTHER


WRITERS: Mapping[str, Callable[[Sequence[Word]], Doing]] = {"mv": _move, "dd": _dd, "perl": _perl, "git": _git}
"""Commands with a grammar of their own."""
