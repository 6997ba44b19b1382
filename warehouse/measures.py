"""The measures and the relations they are taken over, as parsed from their SQL files: pure, no connection.

A measure is one SELECT that gives, for every slice and part, a numerator and a denominator. The same text becomes part
of one combined query (all measures of a relation in one pass) and a table macro of the catalog.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

Kind = Literal["rate", "mean", "ratio", "median", "p95", "deviation"]
"""rate: hits of trials; mean and ratio: sum over count or sum; median and p95: of a histogram; deviation: between
agents, computed in Python from the listed rows (it has no macro)."""

SLICES = (
    "all",
    "agent",
    "runtime",
    "tool",
    "surface",
    "mode",
    "scope",
    "status",
    "ranker",
    "query_length",
    "day",
    "week",
)
"""What a figure can be split by."""

PARAMETERS: dict[str, tuple[str, str]] = {
    "asof": ("as_of", ""),
    "days": ("days", "30"),
    "agent": ("only_agent", "NULL"),
    "runtime": ("only_runtime", "NULL"),
    "tool": ("only_tool", "NULL"),
    "surface": ("only_surface", "'memory'"),
    "base": ("base", "'known'"),
    "credit": ("credits", "'all'"),
    "slice_by": ("slice_by", "'all'"),
}
"""Parameters of every query: what the table macros call them (no column may have that name) and their default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One SQL file: its header and its SELECT."""

    name: str
    header: Mapping[str, str]
    sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One evaluation figure."""

    name: str
    title: str
    kind: Kind
    unit: str
    formula: str
    n: str
    """What the denominator counts, in words."""
    spec: str
    since: str
    numerator: str
    denominator: str
    relation: str
    sql: str


def parse(text: str) -> Query:
    """Return the header (`-- key: value`, continued by `--   more`) and the SELECT of an SQL file.

    Raises:
        ValueError: for a file without a name.
    """
    header: dict[str, str] = {}
    body: list[str] = []
    key = ""
    for line in text.splitlines():
        if match := re.match(r"-- (\w+): (.*)", line):
            key = match[1]
            header[key] = match[2].strip()
        elif key and (match := re.match(r"--\s{2,}(.*)", line)):
            header[key] += " " + match[1].strip()
        elif not line.startswith("--"):
            body.append(line)
    if "name" not in header:
        raise ValueError(f"expected an SQL file with a `-- name:` header, got {text[:80]!r}")
    return Query(name=header["name"], header=header, sql="\n".join(body).strip())


_MEASURE = re.compile(
    r"SELECT\s+slice,\s+part,\s+(?P<numerator>.+?) AS num,\s+(?P<denominator>.+?) AS den\s+"
    r"FROM (?P<relation>\w+)\s+GROUP BY slice, part",
    re.DOTALL,
)


_HEADER = ("title", "kind", "unit", "formula", "n", "spec", "since")


def measures_in(text: str) -> list[Measure]:
    """Return the measures of one SQL file: one, or one for each value of its `each: name in a b c` header.

    Raises:
        ValueError: for a file that lacks a header key, or whose SELECT has another form.
    """
    query = parse(text)
    each = query.header.get("each")
    if each is None:
        return [_measure(query)]
    variable, _, values = each.partition(" in ")
    return [_measure(_bound(query, variable, value)) for value in values.split()]


def _bound(query: Query, variable: str, value: str) -> Query:
    def bind(text: str) -> str:
        return re.sub(rf"\${variable}\b", value, text)

    header = {key: bind(item) for key, item in query.header.items()}
    return Query(name=header["name"], header=header, sql=bind(query.sql))


def _measure(query: Query) -> Measure:
    match = _MEASURE.fullmatch(query.sql)
    missing = {*_HEADER, "grain"} - query.header.keys()
    if match is None or missing or query.header["kind"] not in get_args(Kind):
        raise ValueError(
            f"measure {query.name}: expected the header and SELECT of a measure, lacking {sorted(missing)}"
        )
    fields: dict[str, Any] = {key: query.header[key] for key in _HEADER}
    parts: dict[str, Any] = match.groupdict()
    return Measure(name=query.name, sql=query.sql, **parts, **fields)


def with_clause(relation: str, relations: Mapping[str, Query]) -> str:
    """Return `WITH a AS (...), b AS (...)` that defines a relation and every relation below it."""
    order: list[str] = []

    def visit(name: str) -> None:
        for source in re.split(r",\s*", relations[name].header.get("source", "")):
            if source in relations:
                visit(source)
        if name not in order:
            order.append(name)

    visit(relation)
    return "WITH " + ",\n".join(f"{name} AS (\n{relations[name].sql}\n)" for name in order)


def combined(relation: str, measures: Sequence[Measure], relations: Mapping[str, Query]) -> str:
    """Return one query that takes several measures of a relation in one pass: slice, part, then num and den of each."""
    columns = ",\n".join(f"{m.numerator} AS n{i}, {m.denominator} AS d{i}" for i, m in enumerate(measures))
    return (
        f"{with_clause(relation, relations)}\nSELECT slice, part,\n{columns}\n"
        f"FROM {relation}\nGROUP BY slice, part\nORDER BY slice, part"
    )


def used(sql: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return those parameters that a query names; a prepared statement refuses any other."""
    return {name: parameters[name] for name in re.findall(r"\$([a-z_]+)", sql)}


_VALUE: dict[str, str] = {
    "rate": "num / nullif(den, 0)",
    "mean": "num / nullif(den, 0)",
    "ratio": "num / nullif(den, 0)",
    "median": "histogram_quantile(num, 0.5)",
    "p95": "histogram_quantile(num, 0.95)",
}

HISTOGRAM_QUANTILE = (
    "CREATE OR REPLACE MACRO histogram_quantile(h, p) AS list_aggregate(flatten("
    "list_transform(map_entries(h), lambda e: repeat([e.key], e.value::BIGINT))), 'quantile_cont', p)"
)
"""Scalar macro that the macros of medians and percentiles use."""


def macro(measure: Measure, relations: Mapping[str, Query]) -> str:
    """Return the table macro of a measure: `SELECT * FROM <name>(as_of, days := 30, slice_by := 'agent')`."""
    parameters = ", ".join(name if not default else f"{name} := {default}" for name, default in PARAMETERS.values())
    sql = f"{with_clause(measure.relation, relations)}\n{measure.sql}".replace("$parts", "1")
    for variable, (name, _) in PARAMETERS.items():
        sql = re.sub(rf"\${variable}\b", name, sql)
    return (
        f"CREATE OR REPLACE MACRO {measure.name}({parameters}) AS TABLE\n"
        f"SELECT slice, {_VALUE[measure.kind]} AS value, den AS n FROM (\n{sql}\n) ORDER BY slice"
    )


def by_relation(measures: Iterable[Measure]) -> dict[str, list[Measure]]:
    """Return measures grouped by the relation they are taken over, in order."""
    groups: dict[str, list[Measure]] = {}
    for measure in measures:
        groups.setdefault(measure.relation, []).append(measure)
    return groups
