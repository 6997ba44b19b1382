"""The words of one shell command, sorted into flags and operands by the grammar of its options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

ShellClass = Literal["read", "search_in", "search_tree", "discovery", "write", "other"]


Lines = tuple[int | None, int | None]
"""First and last line, counted from 1; null where it is open."""

NO_LINES: Lines = (None, None)
"""All lines, or nobody can tell which."""


class Word(msgspec.Struct, frozen=True, gc=False):
    """One word of a command after expansion."""

    text: str
    known: bool = True
    """False when a part of it only the shell could tell."""
    glob: bool = False
    """An unquoted `*`, `?` or `[`: it names files, but which?"""


class Operand(msgspec.Struct, frozen=True, gc=False):
    """A file whose content a command shows."""

    path: str
    op: Literal["read", "search"] = "read"
    lines: Lines = NO_LINES
    maybe_directory: bool = False
    """A recursive search was given a name that may well be a folder's."""


class Doing(msgspec.Struct, frozen=True, gc=False):
    """What one simple command does."""

    kind: ShellClass
    files: tuple[Operand, ...] = ()
    written: tuple[str, ...] = ()
    passes_on: bool = False
    """What comes in by a pipe goes out again, at least in part."""
    lines: Lines = NO_LINES
    """Which lines of what comes in by a pipe go out."""


class Options(msgspec.Struct, frozen=True):
    """The grammar of a command's options."""

    short: str = ""
    """Letters that take a value, in the same word or the next."""
    long: frozenset[str] = frozenset()
    """Long options that take a value in the next word (`--name=value` is always understood)."""


class Parsed(msgspec.Struct):
    """A command's words, sorted into flags and operands."""

    flags: dict[str, str | None] = {}
    """First value of every option that was given."""
    operands: list[Word] = []

    def has(self, names: frozenset[str]) -> bool:
        """Whether any of these options was given."""
        return not names.isdisjoint(self.flags)

    def value(self, *names: str) -> str | None:
        """Value of the first of these options, or null."""
        return next((self.flags[name] for name in names if name in self.flags), None)


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
            parsed.flags.setdefault(name, value if equals or name in options.long else None)
        elif len(text) > 1 and text[0] == "-":
            _short(text[1:], rest, options.short, parsed)
        else:
            parsed.operands.append(word)
    return parsed


def _short(cluster: str, rest: Iterator[Word], valued: str, parsed: Parsed) -> None:
    for at, letter in enumerate(cluster):
        if letter in valued:
            value = cluster[at + 1 :] or _next(rest)
            parsed.flags.setdefault(letter, value)
            return
        if letter.isdigit():
            parsed.flags.setdefault("#", cluster[at:])
            return
        parsed.flags.setdefault(letter, None)


def _next(rest: Iterator[Word]) -> str:
    return next(rest, Word("")).text


def long_options(names: str) -> frozenset[str]:
    """Return option names from a text of words."""
    return frozenset(names.split())
