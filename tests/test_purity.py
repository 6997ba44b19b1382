"""I/O stays in the shells: every other module is checked, by its file name, to touch nothing outside its arguments."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("streams", "producers", "correlator", "warehouse", "ranking", "memory", "hub")
SHELLS = frozenset(
    [
        "agents",
        "app",
        "client",
        "collector",
        "consumer",
        "emitter",
        "job",
        "migrate",
        "publisher",
        "sink",
        "store",
        "server",
    ]
)
"""File names that may do I/O."""

SHELL_FILES = frozenset({"streams/clock.py"})
"""Single files that may: the clock is the one place that reads the machine's time."""

FORBIDDEN_MODULES = frozenset(
    [
        "aiokafka",
        "apsw",
        "asyncio",
        "duckdb",
        "faust",
        "ftplib",
        "httpx",
        "logging",
        "multiprocessing",
        "os",
        "random",
        "secrets",
        "shutil",
        "signal",
        "socket",
        "sqlite3",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "urllib.request",
        "uvicorn",
        "watchfiles",
    ]
)
FORBIDDEN_CALLS = frozenset(["open", "print", "input", "breakpoint"])
FORBIDDEN_METHODS = frozenset(
    [
        "now",
        "utcnow",
        "today",
        "uuid4",
        "uuid1",
        "read_text",
        "read_bytes",
        "write_text",
        "write_bytes",
        "unlink",
        "mkdir",
        "iterdir",
        "rglob",
        "urandom",
    ]
)


def impurities(source: str) -> list[str]:
    """Return what a module's source does beyond its arguments, one line each."""
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [f"line {node.lineno}: imports {a.name}" for a in node.names if a.name in FORBIDDEN_MODULES]
        elif isinstance(node, ast.ImportFrom) and node.module in FORBIDDEN_MODULES:
            found.append(f"line {node.lineno}: imports {node.module}")
        elif isinstance(node, ast.Call):
            match node.func:
                case ast.Name(id=name) if name in FORBIDDEN_CALLS:
                    found.append(f"line {node.lineno}: calls {name}()")
                case ast.Attribute(attr=name, value=value) if name in FORBIDDEN_METHODS and not _is_argument(value):
                    found.append(f"line {node.lineno}: calls .{name}()")
    return found


def _is_argument(value: ast.expr) -> bool:
    """Tell whether the call goes to a clock that was handed in: `clock.now()`, `self.clock.now()`."""
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lstrip("_") == "clock"
    return False


def pure_modules() -> list[Path]:
    """Return every module that has to be pure."""
    return [
        path
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.stem not in SHELLS and path.relative_to(ROOT).as_posix() not in SHELL_FILES
    ]


@pytest.mark.parametrize("path", pure_modules(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_that_is_no_shell_touches_nothing_outside_its_arguments(path: Path) -> None:
    assert impurities(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    ["import os", "from time import sleep", "open('x')", "datetime.now(UTC)", "Path('x').read_text()", "uuid.uuid4()"],
)
def test_the_check_sees_every_kind_of_impurity(source: str) -> None:
    assert impurities(source) != []


def test_a_clock_that_was_handed_in_is_no_impurity() -> None:
    assert impurities("def age(clock, at): return clock.now() - at") == []
