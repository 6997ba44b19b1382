"""Consumption is navigation, not truth: nothing in ranking can write authority, status or verification."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import msgspec
import pytest

from streams.recall import AnchorPrior
from streams.topics import ANCHOR_PRIORS

RANKING = Path(__file__).parents[2] / "ranking"
FORBIDDEN = frozenset({"authority", "status", "verified", "output_verified", "verification", "VerificationSignal"})
WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|COPY|MERGE|TRUNCATE)\b", re.IGNORECASE)


def written_names(source: str) -> set[str]:
    """Return the attributes, keys and fields of published values that a module writes."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.Call(func=ast.Name(id="AnchorPrior" | "TaskTrajectory" | "OutcomeSignalled" | "DocumentIndexed")):
                found |= {keyword.arg for keyword in node.keywords if keyword.arg}
            case ast.Call(func=ast.Attribute(attr="replace") | ast.Name(id="replace" | "setattr")):
                found |= {keyword.arg for keyword in node.keywords if keyword.arg}
    return found


@pytest.mark.parametrize("path", sorted(RANKING.rglob("*.py")), ids=lambda path: path.name)
def test_no_module_writes_authority_status_or_verification(path: Path) -> None:
    assert not written_names(path.read_text(encoding="utf-8")) & FORBIDDEN


@pytest.mark.parametrize(
    "source",
    ["x.authority = 1", "x['status'] = 1", "replace(x, authority='a')", "AnchorPrior(status=1)", "del x.verified"],
)
def test_the_check_sees_every_way_to_write(source: str) -> None:
    assert written_names(source) & FORBIDDEN


@pytest.mark.parametrize("path", sorted((RANKING / "sql").glob("*.sql")), ids=lambda path: path.name)
def test_no_query_writes_anything(path: Path) -> None:
    code = re.sub(r"--.*", "", path.read_text(encoding="utf-8"))

    assert not WRITES.search(code)


def test_ranking_publishes_to_one_topic_only_and_its_value_has_no_field_for_truth() -> None:
    emitting = [path.name for path in RANKING.rglob("*.py") if ".emit" in path.read_text(encoding="utf-8")]
    topics = {name for path in RANKING.rglob("*.py") for name in _topics(path)}

    assert emitting == ["publisher.py"]
    assert topics == {"ANCHOR_PRIORS"}
    assert ANCHOR_PRIORS.name == "recall.anchor-priors.v1"
    assert not {field.name for field in msgspec.structs.fields(AnchorPrior)} & FORBIDDEN


def _topics(path: Path) -> list[str]:
    return [
        alias.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "streams.topics"
        for alias in node.names
    ]
