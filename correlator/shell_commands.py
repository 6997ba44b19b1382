"""The shell commands that read, search, list or change files, as a table with the grammar of their options.

`interpret` takes the words of one simple command and says what it does with which files. A command that stands in no
table is `other`. Sources: the manual pages of GNU coreutils, sed, grep and findutils, of ripgrep, ag, ack, bat, jq
and git.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile

from correlator.paths import looks_like_a_directory, may_be_a_directory
from correlator.shell_lines import SHOWN_LINES, script_lines
from correlator.shell_options import (
    NO_LINES,
    Doing,
    Operand,
    Options,
    Parsed,
    Word,
    long_options,
    parse_options,
)

OTHER = Doing("other")
"""A command that shows and changes no file that can be told."""

READERS: Mapping[str, Options] = {
    "cat": Options(),
    "tac": Options("s"),
    "nl": Options("bdfhilnsvw"),
    "head": Options("nc", long_options("lines bytes")),
    "tail": Options("ncs", long_options("lines bytes sleep-interval pid")),
    "less": Options("pPtTxyzDbhjkoO"),
    "more": Options("n"),
    "bat": Options(
        "rlHm",
        long_options("line-range language highlight-line style theme tabs wrap color paging terminal-width map-syntax"),
    ),
    "sort": Options("ktoST", long_options("key field-separator output")),
    "uniq": Options("fsw"),
    "cut": Options("dfcb", long_options("delimiter fields characters bytes")),
    "column": Options("socN"),
    "fold": Options("w"),
    "fmt": Options("w"),
    "paste": Options("d"),
    "join": Options("t12oae"),
    "comm": Options(),
    "wc": Options(long=long_options("files0-from total")),
    "rev": Options(),
    "expand": Options("t"),
    "strings": Options("nt"),
    "xxd": Options("lsc"),
    "od": Options("AjNtw"),
    "hexdump": Options("ns"),
    "zcat": Options(),
    "diff": Options("UCIxW", long_options("unified context label exclude")),
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
    "sed": Options("efl", long_options("expression file line-length")),
    "awk": Options("Fvf", long_options("field-separator assign file")),
    "jq": Options("fL", long_options("from-file indent")),
}
"""Commands whose first operand is a script unless an option brings it."""

_GREP_LONG = long_options(
    "regexp file after-context before-context context max-count include exclude exclude-dir exclude-from label"
    " binary-files directories devices group-separator"
)
_RG_LONG = long_options(
    "regexp file after-context before-context context max-count glob iglob type type-not max-depth maxdepth max-columns"
    " max-filesize sort sortr color colors engine encoding type-add type-clear context-separator hyperlink-format"
    " field-match-separator field-context-separator pre pre-glob replace threads path-separator dfa-size-limit"
    " regex-size-limit ignore-file"
)

SEARCHERS: Mapping[str, tuple[Options, bool]] = {
    "grep": (Options("efABCmdD", _GREP_LONG), False),
    "rg": (Options("efABCmgtTjMdEr", _RG_LONG), True),
    "ag": (
        Options("ABCGmpW", long_options("after before context file-search-regex max-count depth ignore ignore-dir")),
        True,
    ),
    "ack": (
        Options("ABCmg", long_options("after-context before-context context max-count type ignore-dir ignore-file")),
        True,
    ),
}
"""Searching command -> its options, and whether it walks the tree by itself."""

_NAMES_ONLY = long_options("l q files-with-matches files-without-match quiet silent")
_PATTERN_GIVEN = long_options("e f regexp file")
_LISTS_FILES = long_options("files type-list version help")
_LISTS_BY_NAME = {"ag": long_options("g"), "ack": long_options("f g")}
_RECURSIVE = long_options("r R recursive dereference-recursive")
_IN_PLACE = long_options("i in-place")

DISCOVERY = frozenset(
    {"ls", "find", "fd", "tree", "exa", "eza", "dir", "locate", "which", "whereis", "pwd", "realpath"}
)
"""Commands that tell of files, not their content."""

FILTERS = frozenset({"tr", "sponge", "ts", "pr", "iconv", "dos2unix"})
"""Commands without files of their own that pass on what comes in by a pipe."""

_WRITE_OPTIONS = Options("tSsrdmog", long_options("size reference date target-directory suffix mode owner group"))


def interpret(name: str, words: Sequence[Word], *, piped: bool) -> Doing:
    """Return what a simple command does.

    Args:
        name: The command without its directory.
        words: Its arguments.
        piped: Whether its input comes from a pipe, a here-document or a file.
    """
    name = ALIASES.get(name, name)
    if (reader := READERS.get(name)) is not None:
        return _reader(name, parse_options(words, reader))
    if (scripted := SCRIPTED.get(name)) is not None:
        return _scripted(name, _without_jq_arguments(words) if name == "jq" else words, scripted)
    if (searcher := SEARCHERS.get(name)) is not None:
        parsed = parse_options(words, searcher[0])
        if name != "rg" and "L" in parsed.flags:  # names of files without a match; rg's -L follows links
            parsed.flags["l"] = None
        if name in ("ag", "ack") and parsed.has(_LISTS_BY_NAME[name]):
            return Doing("discovery")
        return _searcher(parsed, piped=piped, recursive=searcher[1])
    if (other := OTHERS.get(name)) is not None:
        return other(words)
    return OTHER


def _lists(words: Sequence[Word]) -> Doing:
    return Doing("discovery")


def _filter(words: Sequence[Word]) -> Doing:
    return Doing("other", passes_on=True)


def _tee(words: Sequence[Word]) -> Doing:
    written = tuple(_names(parse_options(words, Options()).operands))
    return Doing("write" if written else "other", written=written, passes_on=True)


def _writes_all(words: Sequence[Word]) -> Doing:
    return Doing("write", written=tuple(_names(parse_options(words, _WRITE_OPTIONS).operands)))


def _writes_last(words: Sequence[Word]) -> Doing:
    return Doing("write", written=tuple(_names(parse_options(words, _WRITE_OPTIONS).operands)[-1:]))


def _is_file(text: str) -> bool:
    return text not in ("", "-") and not text.startswith("/dev/")


def _names(operands: Iterable[Word]) -> list[str]:
    return [
        word.text
        for word in operands
        if word.known and not word.glob and word.text not in ("", "-") and word.text[:5] != "/dev/"
    ]


def _reader(name: str, parsed: Parsed) -> Doing:
    lines = SHOWN_LINES[name](parsed) if name in SHOWN_LINES else NO_LINES
    names = [text for text in _names(parsed.operands) if not text.startswith("+")]
    written = _names([Word(output)]) if name == "sort" and (output := parsed.value("o", "output")) else []
    if written:
        return Doing("write", written=tuple(written))
    return Doing("read", tuple(Operand(text, "read", lines) for text in names), passes_on=True, lines=lines)


def _scripted(name: str, words: Sequence[Word], options: Options) -> Doing:
    parsed = parse_options(words, options)
    operands = parsed.operands
    in_place = name == "sed" and parsed.has(_IN_PLACE)
    if in_place and operands and not operands[0].text:  # BSD: an empty suffix in a word of its own
        operands = operands[1:]
    script = parsed.value("e", "f", "expression", "file", "from-file")
    if script is None and operands:
        script, operands = operands[0].text, operands[1:]
    names = _names(operands)
    if in_place or (name == "awk" and parsed.value("i") == "inplace"):
        return Doing("write", written=tuple(names))
    if name == "awk":
        names = [text for text in names if not re.match(r"[A-Za-z_]\w*=", text)]
    several = sum(word.text.startswith(("-e", "--expression")) for word in words) > 1
    lines = NO_LINES if several else script_lines(name, script or "", parsed)
    return Doing("read", tuple(Operand(text, "read", lines) for text in names), passes_on=True, lines=lines)


def _without_jq_arguments(words: Sequence[Word]) -> list[Word]:
    """`--arg name value` takes two words."""
    kept = list(words)
    for at in range(len(kept) - 1, -1, -1):
        if kept[at].text in ("--arg", "--argjson", "--slurpfile", "--rawfile"):
            del kept[at : at + 3]
    return kept


def _searcher(parsed: Parsed, *, piped: bool, recursive: bool) -> Doing:
    if parsed.has(_LISTS_FILES):
        return Doing("discovery")
    operands = parsed.operands
    if not parsed.has(_PATTERN_GIVEN):
        operands = operands[1:]
    recursive = recursive or parsed.has(_RECURSIVE)
    names_only = parsed.has(_NAMES_ONLY)
    if not operands:
        tree = recursive and not piped
        return Doing("search_tree") if tree else Doing("other", passes_on=not names_only)
    if any(word.glob or looks_like_a_directory(word.text) for word in operands):
        return Doing("search_tree", _searched(operands, recursive) if not names_only else ())
    files = _searched(operands, recursive)
    if names_only:
        return Doing("search_tree" if any(file.maybe_directory for file in files) else "discovery")
    return Doing("search_in", files, passes_on=True)


def _searched(operands: Sequence[Word], recursive: bool) -> tuple[Operand, ...]:
    named = [text for text in _names(operands) if not looks_like_a_directory(text)]
    return tuple(Operand(text, "search", maybe_directory=recursive and may_be_a_directory(text)) for text in named)


def _find(words: Sequence[Word]) -> Doing:
    """`find` lists; with `-exec` it does what the inner command does with the files that are its starting points."""
    texts = [word.text for word in words]
    for at, text in enumerate(texts):
        if text in ("-exec", "-execdir", "-ok") and at + 1 < len(texts):
            starts = list(takewhile(lambda word: not word.text.startswith(("-", "(", "!")), words))
            named = [
                word for word in starts if not looks_like_a_directory(word.text) and not may_be_a_directory(word.text)
            ]
            inner = texts[at + 1].rpartition("/")[2]
            if named and len(named) == len(starts):
                rest = [word for word in words[at + 2 :] if word.text not in ("{}", "+", ";", "\\;")]
                return interpret(inner, [*rest, *named], piped=False)
            return Doing("search_tree") if ALIASES.get(inner, inner) in SEARCHERS else OTHER
    return Doing("discovery")


def _fd(words: Sequence[Word]) -> Doing:
    """`fd` lists; with `-x` it runs a command on files that only it knows."""
    for at, word in enumerate(words[:-1]):
        if word.text in ("-x", "-X", "--exec", "--exec-batch"):
            inner = words[at + 1].text.rpartition("/")[2]
            return Doing("search_tree") if ALIASES.get(inner, inner) in SEARCHERS else OTHER
    return Doing("discovery")


def _dd(words: Sequence[Word]) -> Doing:
    return Doing("write", written=tuple(word.text[3:] for word in words if word.text.startswith("of=")))


def _perl(words: Sequence[Word]) -> Doing:
    flags = "".join(word.text[1:] for word in words if re.fullmatch(r"-[a-zA-Z0-9.]+", word.text))
    names = _names(parse_options(words, Options("eEIMm")).operands)
    if "i" in flags:
        return Doing("write", written=tuple(names))
    reads = "e" in flags.lower() and ("n" in flags or "p" in flags)
    return Doing("read", tuple(Operand(text) for text in names), passes_on=True) if reads else OTHER


def _git(words: Sequence[Word]) -> Doing:
    parsed_at = 0
    while parsed_at < len(words) and words[parsed_at].text.startswith("-"):
        parsed_at += 2 if words[parsed_at].text in ("-C", "-c", "--git-dir", "--work-tree") else 1
    if parsed_at >= len(words):
        return OTHER
    command, rest = words[parsed_at].text, words[parsed_at + 1 :]
    if command == "grep":
        return _git_grep(rest)
    if command in ("ls-files", "ls-tree", "status"):
        return Doing("discovery")
    parsed = parse_options(rest, Options("nGSUOL"))
    if command in ("show", "cat-file", "diff", "log", "blame", "annotate"):
        return _git_reads(command, parsed, rest)
    operands = parsed.operands
    if command in ("mv", "rm", "restore"):
        return Doing("write", written=tuple(_names(operands)))
    if command == "checkout" and any(word.text == "--" for word in rest):
        after = [word.text for word in rest].index("--")
        return Doing("write", written=tuple(_names(rest[after + 1 :])))
    return OTHER


_REVISION = re.compile(r"(?:HEAD|@|[0-9a-f]{7,40}|(?:origin|upstream)/.+|v\d[\w.]*)(?:[~^@].*)?")


def _git_grep(rest: Sequence[Word]) -> Doing:
    parsed = parse_options(rest, SEARCHERS["grep"][0])
    given = parsed.has(_PATTERN_GIVEN)
    pattern, files = ([], parsed.operands) if given else (parsed.operands[:1], parsed.operands[1:])
    parsed.operands = [*pattern, *(word for word in files if _REVISION.fullmatch(word.text) is None)]
    return _searcher(parsed, piped=False, recursive=True)


_PATCHES = long_options("p u patch L")
_NO_CONTENT = long_options("stat shortstat numstat dirstat name-only name-status summary no-patch s quiet check raw")
_FILE_LIKE = re.compile(r"[^.].*\.[A-Za-z]\w*|.+/[^.]+\.\w+|[A-Z][A-Za-z]*file|LICENSE|README")


def _git_reads(command: str, parsed: Parsed, rest: Sequence[Word]) -> Doing:
    """The files whose content, or whose changes, a look into the history shows."""
    if not parsed.has(_PATCHES) and (command == "log" or parsed.has(_NO_CONTENT)):
        return OTHER
    behind = [word.text for word in rest]
    lines = NO_LINES
    if command == "log" and (found := re.fullmatch(r"(?:(\d+),(\d+)|.+):([^:]+)", parsed.value("L") or "")):
        lines = (int(found[1]), int(found[2])) if found[1] else NO_LINES
        names = [found[3]]
    elif "--" in behind:
        names = _names(rest[behind.index("--") + 1 :])
    elif command in ("blame", "annotate"):
        names = _names(parsed.operands)[-1:]
    else:
        texts = _names(parsed.operands)
        names = [text.partition(":")[2] for text in texts if command in ("show", "cat-file") and ":" in text]
        names = names or [text for text in texts if _FILE_LIKE.fullmatch(text) and ".." not in text]
    files = tuple(Operand(text, lines=lines) for text in names if text and not looks_like_a_directory(text))
    return Doing("read", files, passes_on=True) if files else OTHER


OTHERS: Mapping[str, Callable[[Sequence[Word]], Doing]] = {
    **dict.fromkeys(DISCOVERY, _lists),
    **dict.fromkeys(FILTERS, _filter),
    **dict.fromkeys(("rm", "touch", "unlink", "shred", "truncate", "rmdir", "mv"), _writes_all),
    **dict.fromkeys(("cp", "ln", "install", "rsync"), _writes_last),
    "find": _find,
    "fd": _fd,
    "tee": _tee,
    "dd": _dd,
    "perl": _perl,
    "git": _git,
}
"""Commands with a rule of their own."""

COMMANDS: frozenset[str] = frozenset({*READERS, *SCRIPTED, *SEARCHERS, *OTHERS, *ALIASES})
"""Every command that stands in a table."""
