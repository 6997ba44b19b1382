"""What a shell command does with files: one classifier, on a real shell grammar, for the whole correlator.

It serves consumption, bundle boundaries, fallback, files read and files modified. Text that no grammar can read never
raises: it is class `other` with a reason. No file system is asked: a directory is known by its spelling alone.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from correlator.powershell import interpret_powershell, is_powershell
from correlator.shell_commands import (
    OTHER,
    SEARCHERS,
    Doing,
    Operand,
    Options,
    ShellClass,
    Word,
    interpret,
    interpret_program,
    parse_options,
)

MAX_DEPTH = 60
"""Nesting of statements and of wrappers that is followed; deeper text is `other`."""

MAX_CACHED = 4_096
"""Longest command that is remembered; longer ones hardly ever come twice."""

_LANGUAGE = Language(tree_sitter_bash.language())


class ShellVerdict(NamedTuple):
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


def classify(command: str) -> ShellVerdict:
    """Return what a command does; never raises."""
    return _remembered(command) if len(command) <= MAX_CACHED else _classify(command)


@lru_cache(maxsize=8_192)
def _remembered(command: str) -> ShellVerdict:
    return _classify(command)


_SIMPLE = re.compile(r"[A-Za-z0-9_./:@%+,-]+(?: [A-Za-z0-9_./:@%+,-]+)*")


def _classify(command: str) -> ShellVerdict:
    reader = _Reader()
    if is_powershell(command):
        reader.take(interpret_powershell(command), _Scope())
    elif _SIMPLE.fullmatch(command):
        reader.simple([Word(text) for text in command.split(" ")], _Scope(), piped=False, program="")
    else:
        reader.script(command, _Scope())
    return reader.verdict()


@dataclass(slots=True)
class _Scope:
    """What the shell knows at one place: its directory, its variables, and who sees its output."""

    cwd: str = ""
    variables: dict[str, list[str]] = field(default_factory=dict)
    shown: bool = True
    depth: int = 0

    def inner(self, *, shown: bool | None = None) -> _Scope:
        """A sub-shell: it begins with the same and changes nothing outside."""
        keep = self.shown if shown is None else self.shown and shown
        return _Scope(self.cwd, dict(self.variables), keep, self.depth + 1)

    def path(self, text: str) -> str:
        """The path as seen from where the command began."""
        if not self.cwd or text.startswith(("/", "~", "$")) or re.match(r"[A-Za-z]:[\\/]", text):
            return text
        return posixpath.normpath(posixpath.join(self.cwd, text))


@dataclass(slots=True)
class _Reader:
    """Collects what the commands of one text do."""

    classes: set[ShellClass] = field(default_factory=set)
    shown: dict[str, Operand] = field(default_factory=dict)
    written: dict[str, None] = field(default_factory=dict)
    reason: str = ""

    def verdict(self) -> ShellVerdict:
        """What has been collected."""
        classes = frozenset(self.classes) or frozenset[ShellClass](("other",))
        return ShellVerdict(classes, tuple(self.shown.values()), tuple(self.written), self.reason)

    def take(self, doing: Doing, scope: _Scope) -> None:
        """Add what one command does; files whose content goes elsewhere are not shown."""
        for text in doing.written:
            self.written.setdefault(scope.path(text))
        if not scope.shown and doing.kind in ("read", "search_in"):
            self.classes.add("other")
            return
        self.classes.add(doing.kind)
        if any(operand.maybe_directory for operand in doing.files):
            self.classes.add("search_tree")
        if scope.shown:
            for operand in doing.files:
                path = scope.path(operand.path)
                self.shown.setdefault(path, operand._replace(path=path))

    def script(self, text: str, scope: _Scope) -> None:
        """Read a whole script in the shell's grammar."""
        if scope.depth > MAX_DEPTH:
            self.give_up("nested too deeply")
            return
        root = Parser(_LANGUAGE).parse(text.encode("utf-8", "surrogatepass")).root_node
        if root.has_error:
            self.reason = "not in the shell's grammar"
        self.statements(root.named_children, scope)

    def give_up(self, reason: str) -> None:
        """Mark a part that could not be read."""
        self.reason = reason
        self.classes.add("other")

    def statements(self, nodes: Sequence[Node], scope: _Scope, *, piped: bool = False, program: str = "") -> None:
        """Read statements one after the other; what one changes, the next sees."""
        for node in nodes:
            self.statement(node, scope, piped=piped, program=program)

    def statement(self, node: Node, scope: _Scope, *, piped: bool = False, program: str = "") -> None:
        """Read one statement of any kind."""
        kind = node.type
        if kind == "command":
            self.command(node, scope, piped=piped, program=program)
        elif kind == "list":
            for part in _flat_list(node):
                self.statement(part, scope, piped=piped, program=program)
        elif kind == "pipeline":
            self.pipeline(node, scope)
        elif kind == "redirected_statement":
            self.redirected(node, scope, piped=piped)
        elif kind in ("variable_assignment", "variable_assignments", "declaration_command"):
            _assign(node, scope)
        elif kind == "for_statement":
            self.loop(node, scope)
        elif kind == "subshell":
            self.nested(node, scope.inner(), piped=piped, program=program)
        elif kind == "ERROR":
            self.give_up("not in the shell's grammar")
        elif kind in _BLOCKS:
            self.nested(node, scope, piped=piped, program=program)

    def nested(self, node: Node, scope: _Scope, *, piped: bool, program: str) -> None:
        """Read the statements inside a block."""
        if scope.depth > MAX_DEPTH:
            self.give_up("nested too deeply")
            return
        scope.depth += 1
        self.statements(node.named_children, scope, piped=piped, program=program)
        scope.depth -= 1

    def loop(self, node: Node, scope: _Scope) -> None:
        """Read `for name in words; do ...; done`: the body sees every value."""
        name = node.child_by_field_name("variable")
        values = [text.text for value in node.children_by_field_name("value") for text in _expand(value, scope)]
        if name is not None:
            scope.variables[_text(name)] = values[:16]
        body = node.child_by_field_name("body")
        if body is not None:
            self.nested(body, scope, piped=False, program="")

    def pipeline(self, node: Node, scope: _Scope) -> None:
        """Read a pipe from its end: a stage is shown when all behind it pass on what they get."""
        stages = node.named_children
        shown = True
        verdicts: list[_Reader] = []
        for at in range(len(stages) - 1, -1, -1):
            part = _Reader()
            part.statement(stages[at], scope.inner(shown=shown), piped=at > 0)
            verdicts.append(part)
            shown = shown and _passes_on(stages[at], scope)
        for part in reversed(verdicts):
            self.join(part)
        self.fed_by_echo(stages, scope)

    def fed_by_echo(self, stages: Sequence[Node], scope: _Scope) -> None:
        """`echo a.md | xargs cat` names the files of the command behind `xargs`."""
        if len(stages) != 2 or any(stage.type != "command" for stage in stages):
            return
        first, second = (_words(stage, scope) for stage in stages)
        if first and second and first[0].text in ("echo", "printf") and second[0].text == "xargs":
            inner = _behind_xargs(second[1:])
            if inner:
                self.simple([*inner, *first[1:]], scope.inner(), piped=False, program="")

    def join(self, part: _Reader) -> None:
        """Add what another reader collected."""
        self.classes |= part.classes
        self.reason = self.reason or part.reason
        for path, operand in part.shown.items():
            self.shown.setdefault(path, operand)
        self.written |= part.written

    def redirected(self, node: Node, scope: _Scope, *, piped: bool) -> None:
        """Read a statement with redirects: output in a file is not shown, input from a file is."""
        shown, program = True, ""
        for redirect in node.children_by_field_name("redirect"):
            if redirect.type == "heredoc_redirect":
                piped = True
                bodies = [child for child in redirect.named_children if child.type == "heredoc_body"]
                program = "".join(_text(body) for body in bodies)
            elif redirect.type == "file_redirect":
                shown = self.redirect(redirect, node, scope) and shown
        body = node.child_by_field_name("body")
        if body is not None:
            inner = _Scope(scope.cwd, scope.variables, scope.shown and shown, scope.depth)
            self.statement(body, inner, piped=piped, program=program)
            scope.cwd = inner.cwd
        for redirect in node.children_by_field_name("redirect"):
            if redirect.type == "heredoc_redirect":
                self.statements([child for child in redirect.named_children if child.type in _STATEMENTS], scope)

    def redirect(self, redirect: Node, node: Node, scope: _Scope) -> bool:
        """Read one file redirect and return whether the statement's output is still shown."""
        operator = next((child.type for child in redirect.children if not child.is_named), "")
        target = redirect.child_by_field_name("destination")
        words = _expand(target, scope) if target is not None else []
        descriptor = redirect.child_by_field_name("descriptor")
        number = _text(descriptor) if descriptor is not None else ""
        if operator == "<":
            body = node.child_by_field_name("body")
            if body is not None and body.type == "command" and _passes_on(body, scope):
                self.take(Doing("read", tuple(Operand(w.text) for w in words if w.known and not w.glob)), scope)
            return True
        if operator not in (">", ">>", ">|", "&>", "&>>") or number not in ("", "1"):
            return True
        path = words[0].text if words and words[0].known else ""
        if path in ("/dev/stderr", "/dev/stdout", "/dev/tty"):
            return True
        if path and not path.startswith("/dev/"):
            self.take(Doing("write", written=(path,)), scope)
        return False

    def command(self, node: Node, scope: _Scope, *, piped: bool, program: str) -> None:
        """Read one simple command and the substitutions inside it."""
        piped = piped or any(child.type in ("herestring_redirect", "heredoc_redirect") for child in node.children)
        words = _words(node, scope)
        if not words:
            return
        speaks = words[0].text in ("echo", "printf")
        for inner in _substitutions(node):
            shown = inner.type == "process_substitution" or speaks
            self.nested(inner, scope.inner(shown=shown), piped=False, program="")
        self.simple(words, scope, piped=piped, program=program)

    def simple(self, words: Sequence[Word], scope: _Scope, *, piped: bool, program: str) -> None:
        """Interpret the words of a simple command, whatever wraps it."""
        for _ in range(MAX_DEPTH):
            inner = _unwrapped(words)
            if inner is None:
                break
            words = inner
        if not words or not words[0].known:
            self.classes.add("other")
            return
        name = words[0].text.rpartition("/")[2].removesuffix(".exe")
        rest = words[1:]
        if name in _SHELLS:
            self.shell(rest, scope, program)
        elif name in ("cd", "pushd"):
            scope.cwd = _changed(scope.cwd, rest)
        elif name == "eval":
            self.script(" ".join(word.text for word in rest), scope)
        elif name == "xargs":
            self.xargs(rest, scope)
        elif name in _INTERPRETERS:
            self.program(rest, scope, program)
        elif name in ("apply_patch", "applypatch"):
            text = program or " ".join(word.text for word in rest)
            self.take(Doing("write", written=tuple(_PATCHED.findall(text))), scope)
        elif name in ("powershell", "pwsh"):
            self.take(interpret_powershell(_after_command_flag(rest)), scope)
        elif name == "git" and len(rest) > 1 and rest[0].text == "-C":
            moved = scope.inner()
            moved.cwd = _changed(scope.cwd, rest[1:2])
            self.take(interpret(name, rest[2:], piped=piped), moved)
        else:
            self.take(interpret(name, rest, piped=piped), scope)

    def shell(self, rest: Sequence[Word], scope: _Scope, program: str) -> None:
        """Read the script that a shell is given by `-c` or by a here-document."""
        for at, word in enumerate(rest):
            if re.fullmatch(r"-[a-z]*c[a-z]*", word.text) and at + 1 < len(rest):
                self.script(rest[at + 1].text, scope.inner())
                return
            if not word.text.startswith(("-", "+")):
                break
        if program:
            self.script(program, scope.inner())
        else:
            self.classes.add("other")

    def xargs(self, rest: Sequence[Word], scope: _Scope) -> None:
        """A search behind `xargs` walks what it is fed: a search of the tree."""
        inner = _behind_xargs(rest)
        name = inner[0].text.rpartition("/")[2] if inner else ""
        searches = name in SEARCHERS or name in ("egrep", "fgrep", "zgrep")
        self.take(Doing("search_tree") if searches else OTHER, scope)

    def program(self, rest: Sequence[Word], scope: _Scope, program: str) -> None:
        """Read a Python or Node program given on the command line or by a here-document."""
        for at, word in enumerate(rest):
            if word.text in ("-c", "-e", "--eval", "-p") and at + 1 < len(rest):
                self.take(interpret_program(rest[at + 1].text), scope)
                return
        stdin = not rest or rest[0].text == "-"
        self.take(interpret_program(program) if stdin and program else OTHER, scope)


_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish"})
_INTERPRETERS = frozenset({"python", "python3", "node", "bun", "deno", "uv"})
_STATEMENTS = frozenset({"command", "list", "pipeline", "redirected_statement", "subshell"})
_BLOCKS = frozenset(
    {
        "negated_command",
        "compound_statement",
        "if_statement",
        "elif_clause",
        "else_clause",
        "while_statement",
        "c_style_for_statement",
        "case_statement",
        "case_item",
        "do_group",
        "command_substitution",
        "process_substitution",
    }
)
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.M)


def _flat_list(node: Node) -> list[Node]:
    """`a && b && c` nests to the left as deep as it is long."""
    parts: list[Node] = []
    while node.type == "list":
        children = node.named_children
        parts.extend(reversed(children[1:]))
        node = children[0]
    parts.append(node)
    return parts[::-1]


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _words(node: Node, scope: _Scope) -> list[Word]:
    """The expanded words of a simple command; assignments before it are taken for it alone."""
    words: list[Word] = []
    for child in node.children:
        if child.type == "command_name":
            words.extend(_expand(child.named_children[0], scope) if child.named_children else [])
        elif child.type in _WORD_TYPES:
            words.extend(_expand(child, scope))
    return words


_WORD_TYPES = frozenset(
    {
        "word",
        "string",
        "raw_string",
        "concatenation",
        "number",
        "simple_expansion",
        "expansion",
        "ansi_c_string",
        "translated_string",
        "brace_expression",
        "command_substitution",
        "process_substitution",
        "arithmetic_expansion",
        "regex",
    }
)
_BRACES = re.compile(r"([^{}\s'\"$`]*)\{([^{}\s'\"$`]+,[^{}\s'\"$`]*)\}([^{}\s'\"$`]*)")


def _expand(node: Node, scope: _Scope) -> list[Word]:
    """The words that one word of the text becomes."""
    kind = node.type
    if kind == "word":
        raw = _text(node)
        return [Word(re.sub(r"\\(.)", r"\1", raw, flags=re.S), glob=bool(re.search(r"(?<!\\)[*?\[]", raw)))]
    if kind == "raw_string":
        return [Word(_text(node)[1:-1])]
    if kind == "number":
        return [Word(_text(node))]
    if kind in ("simple_expansion", "expansion"):
        return _variable(node, scope)
    if kind == "ansi_c_string":
        return [Word(_text(node)[2:-1].replace("\\n", "\n").replace("\\t", "\t").replace("\\'", "'"))]
    if kind in ("string", "concatenation"):
        if kind == "concatenation" and (found := _BRACES.fullmatch(_text(node))):
            before, inside, after = found.groups()
            return [Word(before + each + after) for each in inside.split(",")]
        return _glued(node, scope)
    return [Word(_text(node), known=False)]


def _glued(node: Node, scope: _Scope) -> list[Word]:
    """The product of the parts of a quoted or compound word, up to 16 words."""
    results = [Word("")]
    end = node.start_byte + (1 if node.type == "string" else 0)
    source = node.text or b""
    for child in node.children:
        gap = source[end - node.start_byte : child.start_byte - node.start_byte].decode("utf-8", "replace")
        end = child.end_byte
        if child.type == '"':
            continue
        parts = _string_part(child) if child.type == "string_content" else _expand(child, scope)
        results = [
            Word(left.text + gap + right.text, left.known and right.known, left.glob or right.glob)
            for left in results
            for right in parts
        ][:16]
    return results


def _string_part(node: Node) -> list[Word]:
    return [Word(re.sub(r'\\(["\\$`])', r"\1", _text(node)))]


def _variable(node: Node, scope: _Scope) -> list[Word]:
    name = _text(node).strip("${}")
    if name in scope.variables:
        return [Word(value) for value in scope.variables[name]]
    if name == "HOME":
        return [Word("~")]
    if name == "PWD":
        return [Word(scope.cwd or ".")]
    return [Word(_text(node), known=False)]


def _assign(node: Node, scope: _Scope) -> None:
    nodes = [node] if node.type == "variable_assignment" else node.named_children
    for each in nodes:
        name, value = each.child_by_field_name("name"), each.child_by_field_name("value")
        if name is None or value is None:
            continue
        words = _expand(value, scope)
        if all(word.known for word in words):
            scope.variables[_text(name)] = [word.text for word in words]
        else:
            scope.variables.pop(_text(name), None)


def _substitutions(node: Node) -> Iterator[Node]:
    """Command and process substitutions in a command's words, also inside quotes."""
    stack = [child for child in reversed(node.children) if child.type in _WORD_TYPES]
    while stack:
        each = stack.pop()
        if each.type in ("command_substitution", "process_substitution"):
            yield each
        elif each.type in ("string", "concatenation"):
            stack.extend(reversed(each.named_children))


def _passes_on(stage: Node, scope: _Scope) -> bool:
    """Whether a stage of a pipe lets out what it gets."""
    if stage.type == "redirected_statement":
        body = stage.child_by_field_name("body")
        return body is not None and _passes_on(body, scope)
    if stage.type != "command":
        return stage.type in ("subshell", "compound_statement", "while_statement")
    words = _words(stage, scope)
    while words and (inner := _unwrapped(words)) is not None:
        words = list(inner)
    if not words:
        return False
    name = words[0].text.rpartition("/")[2]
    if name in _INTERPRETERS:
        return any(word.text == "json.tool" for word in words)
    return interpret(name, words[1:], piped=True).passes_on


_WRAPPERS: dict[str, tuple[Options, int]] = {
    "env": (Options("uCS", frozenset({"unset", "chdir"})), 0),
    "sudo": (Options("ugCDhpRrTtU"), 0),
    "nohup": (Options(), 0),
    "time": (Options("fo"), 0),
    "timeout": (Options("sk", frozenset({"signal", "kill-after"})), 1),
    "nice": (Options("n"), 0),
    "ionice": (Options("cnp"), 0),
    "stdbuf": (Options("ioe"), 0),
    "command": (Options(), 0),
    "builtin": (Options(), 0),
    "exec": (Options("a"), 0),
    "doas": (Options("u"), 0),
    "noglob": (Options(), 0),
    "rtk": (Options(), 0),
}
"""Commands that run another: their options, and operands of their own before it."""


def _unwrapped(words: Sequence[Word]) -> Sequence[Word] | None:
    """The command that a wrapper runs, or null when it is none."""
    if not words:
        return None
    name = words[0].text.rpartition("/")[2]
    if name not in _WRAPPERS:
        return None
    options, own = _WRAPPERS[name]
    rest = list(words[1:])
    while rest:
        text = rest[0].text
        if name == "command" and text in ("-v", "-V"):
            return []
        if text.startswith("-") and text != "-":
            long = text.startswith("--") and "=" not in text and text[2:] in options.long
            short = len(text) == 2 and text[1] in options.short
            del rest[: 2 if long or short else 1]
        elif re.match(r"[A-Za-z_]\w*=", text) and name in ("env", "sudo"):
            del rest[0]
        else:
            break
    return rest[own:]


def _behind_xargs(rest: Sequence[Word]) -> list[Word]:
    parsed = list(rest)
    while parsed and parsed[0].text.startswith("-"):
        alone = len(parsed[0].text) == 2 and parsed[0].text[1] in "nPILdsaE"
        del parsed[: 2 if alone else 1]
    return parsed


def _changed(cwd: str, rest: Sequence[Word]) -> str:
    operands = [word for word in parse_options(rest, Options()).operands if word.text]
    if not operands or not operands[0].known:
        return cwd
    text = operands[0].text
    return text if text.startswith(("/", "~")) or not cwd else posixpath.normpath(posixpath.join(cwd, text))


def _after_command_flag(rest: Sequence[Word]) -> str:
    for at, word in enumerate(rest):
        if word.text.lower() in ("-command", "-c", "/c"):
            return " ".join(each.text for each in rest[at + 1 :])
    return ""
