"""Runs the commands of a shell text in thought: who sees their output, where they stand, which files they touch.

The lexer and the tree reader both lower a text to pipelines of `Stage`s; a `Runner` interprets those one after the
other and collects what they do. Nothing is executed and no file system is asked.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Sequence
from itertools import takewhile

import msgspec
from msgspec.structs import replace

from correlator.paths import looks_like_a_directory, may_be_a_directory
from correlator.powershell import interpret_powershell
from correlator.shell_commands import ALIASES, OTHER, SEARCHERS, interpret
from correlator.shell_options import (
    NO_LINES,
    Doing,
    Operand,
    ShellClass,
    Word,
)
from correlator.shell_programs import interpret_program
from correlator.shell_wrappers import unwrapped

MAX_DEPTH = 60
"""Nesting of statements and of wrappers that is followed; deeper text is `other`."""


class ShellVerdict(msgspec.Struct, frozen=True, gc=False):
    """What a command does, taken together."""

    classes: frozenset[ShellClass]
    shown: tuple[Operand, ...]
    """Files whose content reaches the agent, once each, in order."""
    written: tuple[str, ...]
    """Files that are created, changed or removed, once each, in order."""
    reason: str = ""
    """Why the command, or a part of it, could not be read."""

    @property
    def tree_search(self) -> bool:
        """Whether it searches the tree instead of named files."""
        return "search_tree" in self.classes

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the files shown."""
        return tuple(operand.path for operand in self.shown)


class Scope(msgspec.Struct):
    """What the shell knows at one place: its directory, its variables, and whether its output is seen."""

    cwd: str = ""
    variables: dict[str, list[str]] = {}
    shown: bool = True
    depth: int = 0
    previous: str = ""
    """Where `cd -` goes."""
    left: list[str] = []
    """Directories that `pushd` left and `popd` goes back to."""

    def inner(self, *, shown: bool = True) -> Scope:
        """A sub-shell: it begins with the same and changes nothing outside."""
        return Scope(self.cwd, dict(self.variables), self.shown and shown, self.depth + 1)

    def path(self, text: str) -> str:
        """The path as seen from where the command began."""
        if not self.cwd or text.startswith(("/", "~", "$")) or re.match(r"[A-Za-z]:[\\/]", text):
            return text
        return posixpath.normpath(posixpath.join(self.cwd, text))

    def enter(self, operands: Sequence[Word]) -> None:
        """Go where `cd` leads, if that can be told."""
        named = [word for word in operands if word.text == "-" or not word.text.startswith("-")] or [Word("~")]
        text = named[0].text
        if not named[0].known or not text:
            return
        left = self.cwd
        if text == "-":
            self.cwd = self.previous
        else:
            far = not self.cwd or text.startswith(("/", "~"))
            self.cwd = text if far else posixpath.normpath(posixpath.join(self.cwd, text))
        self.previous = left


class Stage(msgspec.Struct):
    """One command of a pipe, with its words expanded."""

    words: Sequence[Word]
    shown: bool = True
    """False when its output goes to a file."""
    fed: bool = False
    """Its input comes from a here-document, a here-string or a file."""
    program: str = ""
    """Text of its here-document."""
    read: tuple[str, ...] = ()
    """Files that are its input by `<`."""
    written: tuple[str, ...] = ()
    """Files that take its output."""
    block: Callable[[Scope], None] | None = None
    """Instead of words: runs the statements of a sub-shell, loop or other block."""


Script = Callable[[str, Scope], None]
"""Reads a whole script inside a scope."""


class _Meaning(msgspec.Struct, frozen=True):
    """A stage with its wrappers taken off."""

    name: str
    rest: Sequence[Word]
    doing: Doing | None
    """Null when it is a script, a change of directory or another command that needs the scope."""


class Runner(msgspec.Struct):
    """Collects what the commands of one text do."""

    script: Script
    classes: set[ShellClass] = set()
    shown: dict[str, Operand] = {}
    written: dict[str, None] = {}
    reason: str = ""

    def verdict(self) -> ShellVerdict:
        """Return what has been collected."""
        classes: frozenset[ShellClass] = frozenset(self.classes) if self.classes else ONLY_OTHER
        return ShellVerdict(classes, tuple(self.shown.values()), tuple(self.written), self.reason)

    def give_up(self, reason: str) -> None:
        """Mark a part that could not be read."""
        self.reason = self.reason or reason
        self.classes.add("other")

    def take(self, doing: Doing, scope: Scope, *, shown: bool) -> None:
        """Add what one command does; files whose content goes elsewhere are not shown."""
        for text in doing.written:
            self.written.setdefault(scope.path(text))
        if not shown and doing.kind in ("read", "search_in"):
            self.classes.add("other")
            return
        self.classes.add(doing.kind)
        for operand in doing.files if shown else ():
            if operand.maybe_directory:
                self.classes.add("search_tree")
            path = scope.path(operand.path) if scope.cwd else operand.path
            if path not in self.shown:
                self.shown[path] = replace(operand, path=path) if path != operand.path else operand

    def pipeline(self, stages: Sequence[Stage], scope: Scope) -> None:
        """Run a pipe: what a stage shows is seen, filtered or counted, unless it ends in a file."""
        meanings = [_meaning(stage, piped=at > 0 or stage.fed) for at, stage in enumerate(stages)]
        visible = [True] * len(stages)
        shown = scope.shown
        for at in range(len(stages) - 1, -1, -1):
            shown = visible[at] = shown and stages[at].shown
        for at, (stage, meaning, seen) in enumerate(zip(stages, _narrowed(meanings), visible, strict=True)):
            inside = scope if len(stages) == 1 else scope.inner()
            if meaning.name != "xargs" or at == 0 or not self.fed_by(meanings[at - 1], meaning, inside, shown=seen):
                self.stage(stage, meaning, inside, shown=seen)

    def stage(self, stage: Stage, meaning: _Meaning, scope: Scope, *, shown: bool) -> None:
        """Run one stage of a pipe."""
        if stage.written:
            self.take(Doing("write", written=stage.written), scope, shown=shown)
        if stage.read and _passes_on(stage, meaning):
            self.take(Doing("read", tuple(Operand(path) for path in stage.read)), scope, shown=shown)
        if stage.block is not None:
            outer = scope.shown
            scope.shown = outer and shown
            stage.block(scope)
            scope.shown = outer
        elif meaning.doing is not None:
            self.take(meaning.doing, scope, shown=shown)
        elif meaning.name:
            self.special(meaning, stage.program, scope, shown=shown)

    def fed_by(self, first: _Meaning, second: _Meaning, scope: Scope, *, shown: bool) -> bool:
        """`echo a.md | xargs cat` and `ls a.md | xargs cat` name the files of the command behind `xargs`."""
        told = _told(first)
        command, slot = _behind_xargs(second.rest)
        if not told or not command:
            return False
        filled = (
            [[Word(word.text.replace(slot, each), word.known) for word in command] for each in told] if slot else []
        )
        for words in filled or [[*command, *map(Word, told)]]:
            stage = Stage(words)
            self.stage(stage, _meaning(stage, piped=False), scope, shown=shown)
        return True

    def special(self, meaning: _Meaning, program: str, scope: Scope, *, shown: bool) -> None:
        """Run a command that is a script, a wrapper of one, or changes the scope."""
        name, rest = meaning.name, meaning.rest
        if name in ("cd", "pushd", "popd"):
            if name == "pushd":
                scope.left.append(scope.cwd)
            if name == "popd":
                scope.cwd = scope.left.pop() if scope.left else scope.cwd
            else:
                scope.enter(rest)
            self.classes.add("other")
        elif name in _SHELLS:
            self.shell(rest, scope.inner(shown=shown), program)
        elif name == "eval":
            self.nested(" ".join(word.text for word in rest), scope)
        elif name == "xargs":
            inner, _ = _behind_xargs(rest)
            command = inner[0].text.rpartition("/")[2] if inner else ""
            searches = ALIASES.get(command, command) in SEARCHERS
            self.take(Doing("search_tree") if searches else OTHER, scope, shown=shown)
        elif name in _INTERPRETERS:
            self.take(_program(rest, program, python=name.startswith("python")), scope, shown=shown)
        elif name in ("apply_patch", "applypatch"):
            text = program or " ".join(word.text for word in rest)
            self.take(Doing("write", written=tuple(_PATCHED.findall(text))), scope, shown=shown)
        elif name in _POWERSHELLS:
            self.take(interpret_powershell(_after_command_flag(rest)), scope, shown=shown)
        else:
            moved = scope.inner()
            moved.enter(rest[1:2])
            self.take(interpret("git", rest[2:], piped=False), moved, shown=shown)

    def shell(self, rest: Sequence[Word], scope: Scope, program: str) -> None:
        """Run the script that a shell is given by `-c` or by a here-document."""
        left = list(rest)
        by_text = False
        while left and left[0].text[:1] in ("-", "+"):
            option = left.pop(0).text
            by_text = by_text or (option[:2] != "--" and "c" in option)
            if option in ("--rcfile", "--init-file") or (option[:2] != "--" and option[-1] in "oO"):
                del left[:1]
        if by_text and left:
            text, *arguments = left
            scope.variables |= {str(at): [word.text] for at, word in enumerate(arguments) if word.known}
            self.nested(text.text, scope)
        elif program and not left:
            self.nested(program, scope)
        else:
            self.classes.add("other")

    def nested(self, text: str, scope: Scope) -> None:
        """Run a script inside a script."""
        if scope.depth > MAX_DEPTH:
            self.give_up("nested too deeply")
        else:
            self.script(text, scope)


ONLY_OTHER: frozenset[ShellClass] = frozenset(("other",))
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish"})
_INTERPRETERS = frozenset({"python", "python3", "node", "bun", "deno", *(f"python3.{minor}" for minor in range(6, 30))})
_POWERSHELLS = frozenset({"powershell", "pwsh", "cmd"})
SPECIAL: frozenset[str] = (
    _SHELLS | _INTERPRETERS | _POWERSHELLS | {"cd", "pushd", "popd", "eval", "xargs", "apply_patch", "applypatch"}
)
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.M)


def _meaning(stage: Stage, *, piped: bool) -> _Meaning:
    words = stage.words
    for _ in range(MAX_DEPTH):
        if not words or not words[0].known:
            return _Meaning("", (), OTHER)
        name = words[0].text
        if "/" in name:
            name = name.rpartition("/")[2]
        name = name.removesuffix(".exe")
        inner = unwrapped(name, words)
        if inner is None:
            break
        words = inner
    rest = words[1:]
    if name in SPECIAL or (name == "git" and len(rest) > 1 and rest[0].text == "-C"):
        return _Meaning(name, rest, None)
    return _Meaning(name, rest, interpret(name, rest, piped=piped))


def _passes_on(stage: Stage, meaning: _Meaning) -> bool:
    """Whether a stage of a pipe lets out what it gets."""
    if stage.block is not None:
        return True
    if meaning.doing is not None:
        return meaning.doing.passes_on
    return meaning.name in _INTERPRETERS and any(word.text == "json.tool" for word in meaning.rest)


def _behind_xargs(rest: Sequence[Word]) -> tuple[list[Word], str]:
    """The command that `xargs` runs, and the text in it that stands for each name, if any."""
    left, slot = list(rest), ""
    while left and left[0].text.startswith("-"):
        text = left[0].text
        if text.startswith("-I"):
            slot = text[2:] or (left[1].text if len(left) > 1 else "")
        alone = len(text) == 2 and text[1] in "nPILdsaE"
        del left[: 2 if alone else 1]
    return left, slot


def _told(meaning: _Meaning) -> list[str]:
    """The files whose names a command prints, as far as its words tell."""
    words = [word for word in meaning.rest if word.known and not word.glob]
    if meaning.name in ("echo", "printf"):
        return [text for word in words for text in _split(word.text) if text and not text.startswith(("-", "%"))]
    if meaning.name == "find":
        words = list(takewhile(lambda word: not word.text.startswith(("-", "(", "!")), words))
    elif meaning.name != "ls":
        return []
    texts = [word.text for word in words if not word.text.startswith("-")]
    return [text for text in texts if not looks_like_a_directory(text) and not may_be_a_directory(text)]


def _narrowed(meanings: Sequence[_Meaning]) -> Sequence[_Meaning]:
    """`cat a.md | sed -n 10,20p`: what shows a file whole is seen through the lines that the next stage lets out."""
    if len(meanings) < 2 or meanings[0].name not in ("cat", "nl", "bat", "batcat"):
        return meanings
    first, second = meanings[0].doing, meanings[1].doing
    if first is None or second is None or second.lines == NO_LINES or len(first.files) != 1:
        return meanings
    if first.files[0].lines != NO_LINES:
        return meanings
    narrowed = replace(first, files=(replace(first.files[0], lines=second.lines),))
    return [replace(meanings[0], doing=narrowed), *meanings[1:]]


def _split(text: str) -> list[str]:
    """The lines and words that `echo` and `printf` print."""
    return re.split(r"\\n|\\0|\s+", text)


def _program(rest: Sequence[Word], program: str, *, python: bool) -> Doing:
    """A Python or Node program given on the command line or by a here-document."""
    if len(rest) > 2 and rest[0].text == "-m" and rest[1].text == "json.tool" and rest[2].known:
        return Doing("read", (Operand(rest[2].text),))
    for at, word in enumerate(rest):
        if word.text in ("-c", "-e", "--eval", "-p") and at + 1 < len(rest):
            return interpret_program(rest[at + 1].text, python=python)
    stdin = not rest or rest[0].text == "-"
    return interpret_program(program, python=python) if stdin and program else OTHER


def _after_command_flag(rest: Sequence[Word]) -> str:
    for at, word in enumerate(rest):
        if word.text.lower() in ("-command", "-c", "/c"):
            return " ".join(each.text for each in rest[at + 1 :])
    return ""
