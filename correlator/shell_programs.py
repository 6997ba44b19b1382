"""Programs on a command line: which files a Python or Node text opens by a name that stands in it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Sequence
from itertools import product

from correlator.shell_options import Doing, Operand

MAX_PARSED = 100_000
"""Characters of a Python text that are parsed; of a longer one only the plainest openings are seen."""

MAX_VALUES = 16
"""Values that one expression is followed to, as the words of a shell loop are."""

_OPENS = re.compile(r"""\bopen\(\s*[rbf]?(['"])([^'"\n]+)\1\s*(?:,\s*(?:mode\s*=\s*)?['"]([rwaxbt+]+)['"])?""")
_PATH_READS = re.compile(r"""\bPath\(\s*[rf]?(['"])([^'"\n]+)\1\s*\)\.(read|write)_(?:text|bytes)\(""")
_NODE_FILES = re.compile(r"""\b(read|write)FileSync\(\s*(['"`])([^'"`\n]+)\2""")


def interpret_program(text: str, *, python: bool) -> Doing:
    """Return which files a Python or Node program on the command line opens; they are shown when it prints."""
    if python and len(text) <= MAX_PARSED:
        try:
            with warnings.catch_warnings(action="ignore"):
                program = _Program()
                program.visit(ast.parse(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass  # a text with gaps, or of another version
        else:
            return _doing(program.opened, prints=program.prints)
    return _by_spelling(text)


def _doing(opened: Iterable[tuple[str, bool]], *, prints: bool) -> Doing:
    found = dict.fromkeys(opened)
    shown = tuple(Operand(path) for path, writes in found if not writes) if prints else ()
    written = tuple(path for path, writes in found if writes)
    return Doing("read" if shown else "write" if written else "other", shown, written)


def _by_spelling(text: str) -> Doing:
    found: list[tuple[int, str, bool]] = []
    for match in _OPENS.finditer(text):
        found.append((match.start(), match.group(2), _writes(match.group(3) or "")))
    for match in _PATH_READS.finditer(text):
        found.append((match.start(), match.group(2), match.group(3) == "write"))
    for match in _NODE_FILES.finditer(text):
        found.append((match.start(), match.group(3), match.group(1) == "write"))
    found.sort()
    return _doing(((path, writes) for _, path, writes in found), prints="print" in text or "log(" in text)


def _writes(mode: str) -> bool:
    return not set(mode).isdisjoint("wax+")


class _Program(ast.NodeVisitor):
    """Follows literal names through assignments, loops and path arithmetic, in the order of the text."""

    def __init__(self) -> None:
        self.opened: list[tuple[str, bool]] = []
        """Path, and whether it is written."""
        self.prints = False
        self._known: dict[str, list[str]] = {}

    def visit_Assign(self, node: ast.Assign) -> None:
        """Remember what a name stands for."""
        self.generic_visit(node)
        for target in node.targets:
            self._bind(target, node.value)

    def visit_For(self, node: ast.For) -> None:
        """The body of a loop sees every value."""
        self.visit(node.iter)
        self._bind(node.target, node.iter)
        for statement in (*node.body, *node.orelse):
            self.visit(statement)

    def visit_Call(self, node: ast.Call) -> None:
        """Note what is opened, and whether anything is printed."""
        called = node.func
        name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
        owner = called.value if isinstance(called, ast.Attribute) else None
        if name in ("print", "pprint", "pp") or (name == "write" and getattr(owner, "attr", "") == "stdout"):
            self.prints = True
        elif name == "open":
            ours = self._values(owner) if owner is not None else []
            paths, rest = (ours, node.args) if ours else (self._values_of(node.args[:1]), node.args[1:])
            self._open(paths, writes=_writes(self._mode(rest, node.keywords)))
        elif owner is not None and name in ("read_text", "read_bytes", "write_text", "write_bytes"):
            self._open(self._values(owner), writes=name.startswith("write"))
        self.generic_visit(node)

    def _open(self, paths: Iterable[str], *, writes: bool) -> None:
        self.opened += [(path, writes) for path in paths if path]

    def _mode(self, arguments: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> str:
        named = [each.value for each in keywords if each.arg == "mode"]
        return "".join(self._values_of([*arguments[:1], *named]))

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._known[target.id] = self._values(value)

    def _values_of(self, nodes: Iterable[ast.expr]) -> list[str]:
        return [value for node in nodes for value in self._values(node)]

    def _values(self, node: ast.expr) -> list[str]:
        """The texts that an expression may be; none when a part of it only the interpreter could tell."""
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.Name(id=name):
                return self._known.get(name, [])
            case ast.List(elts=members) | ast.Tuple(elts=members):
                return self._values_of(members)[:MAX_VALUES]
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._joined([left, right], "/")
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._joined([left, right], "")
            case ast.JoinedStr(values=parts):
                return self._joined(
                    [each.value if isinstance(each, ast.FormattedValue) else each for each in parts], ""
                )
            case ast.Call(func=ast.Name(id="Path" | "PurePath" | "str") | ast.Attribute(attr="Path" | "PurePath")):
                return self._joined(node.args, "/")
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="path"), attr="join" | "expanduser")):
                return self._joined(node.args, "/")
        return []

    def _joined(self, parts: Sequence[ast.expr], between: str) -> list[str]:
        choices = product(*(self._values(part)[:MAX_VALUES] for part in parts))
        return [between.join(each) for each, _ in zip(choices, range(MAX_VALUES), strict=False)]
