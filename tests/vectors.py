"""Run vector files against the product: `python -m tests.vectors FILE [--area A,B]`.

A vector is `{id, area, input, expected}`. Each package brings its adapters in `tests/<package>/vectors.py`;
an adapter calls product code and returns the answer, the runner compares. It prints one line an area with the ids
that failed, and exits with 1 when any failed or when an area that was asked for is covered by nobody or not in the
file; with 2 when the file holds no vectors.

Comparison: `expected` is partial at every depth for objects, lists are whole; numbers within 1e-5; a suffix of a key
is a predicate (`PREDICATES`); keys in `SETS` compare as sets. An answer `{"__by_event__": {index: answer}}` is
narrowed by the expected `event_index`.
"""

# ruff: noqa: T201  # a runner prints
from __future__ import annotations

import argparse
import fnmatch
import importlib
import importlib.util
import json
import math
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

PACKAGES = ("correlator", "warehouse", "memory", "ranking")
TOLERANCE = 1e-5

SETS = frozenset(
    {
        "live_set",
        "match_types",
        "walked",
        "nodes",
        "anchors",
        "alarms",
        "signals",
        "signals_set",
        "origins_of",
        "executed_scopes",
        "set",
    }
)
"""Keys whose lists are sets."""

ORDERED_ANCHORS = frozenset({"search_filters", "degraded", "drilldown"})
"""Areas in which `anchors` is a list in order."""

WHOLE = frozenset({"target_ref"})
"""Keys whose objects are compared whole."""

Adapter = Callable[[dict[str, Any]], dict[str, Any]]


def adapters() -> dict[str, Adapter]:
    """Return the adapter of every covered area."""
    found: dict[str, Adapter] = {}
    for package in PACKAGES:
        name = f"tests.{package}.vectors"
        if importlib.util.find_spec(name) is not None:
            found |= importlib.import_module(name).AREAS
    return found


class Missing:
    """The answer has no such key."""

    def __repr__(self) -> str:
        return "missing"


MISSING = Missing()


def same(expected: Any, actual: Any, *, as_set: bool = False, whole: bool = False) -> bool:
    """Whether an answer is what was expected."""
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, int | float) and isinstance(actual, int | float):
        return math.isclose(expected, actual, rel_tol=0, abs_tol=TOLERANCE)
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping) or (whole and expected.keys() != actual.keys()):
            return False
        return all(not faults({key: value}, actual) for key, value in expected.items())
    if isinstance(expected, list):
        if not isinstance(actual, list | tuple) or len(expected) != len(actual):
            return False
        if as_set:
            return _same_members(expected, actual)
        return all(same(left, right) for left, right in zip(expected, actual, strict=True))
    return type(expected) is type(actual) and expected == actual if expected is not None else actual is None


def _same_members(expected: Sequence[Any], actual: Sequence[Any]) -> bool:
    left = list(actual)
    for member in expected:
        at = next((index for index, other in enumerate(left) if same(member, other)), None)
        if at is None:
            return False
        del left[at]
    return True


def _contains(expected: Any, actual: Any) -> bool:
    if isinstance(expected, list) and not (isinstance(actual, list | tuple) and any(same(expected, a) for a in actual)):
        return all(_contains(each, actual) for each in expected)
    if isinstance(actual, str):
        return str(expected) in actual
    return isinstance(actual, list | tuple | set) and any(same(expected, each) for each in actual)


def _bound(compare: Callable[[float, float], bool]) -> Callable[[Any, Any], bool]:
    def holds(expected: Any, actual: Any) -> bool:
        if isinstance(expected, Mapping):
            return isinstance(actual, Mapping) and all(holds(value, actual.get(key)) for key, value in expected.items())
        known = isinstance(actual, int | float) and not isinstance(actual, bool)
        return known and compare(actual, expected)

    return holds


def _not(expected: Any, actual: Any) -> bool:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return all(not same(value, actual.get(key, MISSING)) for key, value in expected.items())
    if isinstance(expected, list) and not isinstance(actual, list | tuple):
        return all(not same(each, actual) for each in expected)
    return not isinstance(actual, Missing) and not same(expected, actual)


def _sign(expected: Any, actual: Any) -> bool:
    return isinstance(actual, int | float) and (actual > 0) - (actual < 0) == expected


def _has(expected: Any, actual: Any) -> bool:
    keys = expected if isinstance(expected, list) else [expected]
    if isinstance(actual, list | tuple):
        return all(_has(expected, each) for each in actual)
    return isinstance(actual, Mapping) and all(key in actual for key in keys)


def _in(expected: Any, actual: Any) -> bool:
    return any(same(each, actual) for each in expected)


PREDICATES: Mapping[str, Callable[[Any, Any], bool]] = {
    "_at_least": _bound(lambda actual, bound: actual >= bound - TOLERANCE),
    "_at_most": _bound(lambda actual, bound: actual <= bound + TOLERANCE),
    "_min": _bound(lambda actual, bound: actual >= bound - TOLERANCE),
    "_max": _bound(lambda actual, bound: actual <= bound + TOLERANCE),
    "_gt": _bound(lambda actual, bound: actual > bound),
    "_not": _not,
    "_sign": _sign,
    "_contains": _contains,
    "_include": _contains,
    "_exclude": lambda expected, actual: (
        not isinstance(actual, Missing)
        and not any(_contains(each, actual) for each in (expected if isinstance(expected, list) else [expected]))
    ),
    "_has": _has,
    "_in": _in,
    "_rstrip": lambda expected, actual: isinstance(actual, str) and actual.rstrip() == expected.rstrip(),
    "_instant": lambda expected, actual: (
        isinstance(actual, str) and datetime.fromisoformat(actual) == datetime.fromisoformat(expected)
    ),
}
"""Suffix of an expected key -> whether the answer's value satisfies it. An answer may carry the full key as well."""


def faults(expected: Mapping[str, Any], actual: Mapping[str, Any], area: str = "") -> list[str]:
    """Return in words where an answer differs from what was expected."""
    found: list[str] = []
    for key, value in expected.items():
        if key in actual:
            as_set = key in SETS and (key == "set" or area not in ORDERED_ANCHORS)
            holds = same(value, actual[key], as_set=as_set, whole=key in WHOLE)
            got = actual[key]
        else:
            holds, got = _by_predicate(key, value, actual)
        if not holds:
            found.append(f"{key}: expected {value!r}, got {got!r}")
    return found


def _by_predicate(key: str, value: Any, actual: Mapping[str, Any]) -> tuple[bool, Any]:
    for suffix, holds in PREDICATES.items():
        if key.endswith(suffix) and len(key) > len(suffix):
            got = actual.get(key.removesuffix(suffix), MISSING)
            return holds(value, got), got
    return False, MISSING


def run(vector: Mapping[str, Any], adapter: Adapter) -> list[str]:
    """Return what is wrong with one vector's answer; empty when it passes."""
    expected = dict(vector["expected"])
    try:
        answer = adapter(vector["input"])
    except Exception as error:  # a vector that makes the product raise has failed, and the others still run
        place = traceback.extract_tb(error.__traceback__)[-1]
        return [f"raised {type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"]
    if "__by_event__" in answer:
        answer = answer["__by_event__"].get(expected.pop("event_index", 0), {})
    return faults(expected, answer, vector["area"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a file and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.vectors", description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--area", help="comma-separated areas; all by default")
    parser.add_argument("--id", help="only vectors whose id matches this pattern")
    parser.add_argument("--why", action="store_true", help="say what differs")
    options = parser.parse_args(arguments)
    try:
        vectors = load(options.file)
    except ValueError as error:
        print(f"{options.file}: {error}")
        return BAD_FILE
    asked = list(dict.fromkeys(name.strip() for name in options.area.split(","))) if options.area else None
    known = adapters()
    present = list(dict.fromkeys(vector["area"] for vector in vectors))
    failed = False
    for area in asked or present:
        chosen = [each for each in vectors if each["area"] == area and _chosen(each, options.id)]
        if area not in known or (asked and area not in present):
            missing = (
                f"not covered, {len(chosen)} not run" if area not in known else f"not in the file, which has {present}"
            )
            print(f"{area}: {missing}")
            failed = failed or asked is not None
            continue
        results = {each["id"]: run(each, known[area]) for each in chosen}
        wrong = {name: found for name, found in results.items() if found}
        print(f"{area}: {len(results) - len(wrong)} passed, {len(wrong)} failed {' '.join(wrong)}".rstrip())
        for name, found in wrong.items() if options.why else ():
            print(f"  {name}: {'; '.join(found)}")
        failed = failed or bool(wrong)
    return int(failed)


BAD_FILE = 2
"""Exit code for a file that holds no vectors."""

_FIELDS: Mapping[str, type] = {"id": str, "area": str, "input": dict, "expected": dict}


def load(path: Path) -> list[dict[str, Any]]:
    """Return the vectors of a file: a JSON list, or an object with one under `vectors`.

    Raises:
        ValueError: saying what was expected and what came, when it cannot be read or holds no vectors.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ValueError(f"expected a JSON file of vectors, got {error}") from error
    vectors = content.get("vectors") if isinstance(content, dict) else content
    if not isinstance(vectors, list) or not vectors:
        raise ValueError("expected a list of vectors that is not empty")
    complaint = next((found for place, vector in enumerate(vectors) if (found := _complaint(place, vector))), None)
    if complaint is not None:
        raise ValueError(complaint)
    repeated = [name for name, times in Counter(vector["id"] for vector in vectors).items() if times > 1]
    if repeated:
        raise ValueError(f"the id {repeated[0]} occurs twice")
    return vectors


def _complaint(place: int, vector: Any) -> str | None:
    if not isinstance(vector, dict):
        return f"vector {place}: expected an object, got {type(vector).__name__}"
    wrong = next((name for name, kind in _FIELDS.items() if not isinstance(vector.get(name), kind)), None)
    return wrong and f"vector {place} ({vector.get('id')}): expected {wrong} of type {_FIELDS[wrong].__name__}"


def _chosen(vector: Mapping[str, Any], pattern: str | None) -> bool:
    return pattern is None or fnmatch.fnmatch(vector["id"], pattern)


if __name__ == "__main__":
    raise SystemExit(main())
