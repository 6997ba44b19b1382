"""From numerators and denominators to figures: value, n, interval, as-of, and one of four states. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warehouse import effort
from warehouse.measures import Measure

Z95 = 1.959963984540054
"""97.5 % quantile of the standard normal distribution."""

DRAWS = 1000
"""Bootstrap draws; the seed is fixed, so that a figure is the same every time it is read."""

SEED = 20260514

STALE_AFTER = timedelta(hours=24)
"""Age of the newest landed search from which a figure is called stale."""


class State(StrEnum):
    """What a figure is; a dashboard shows the last two as words, never as 0."""

    VALUE = "value"
    TRUE_ZERO = "true_zero"
    NOT_MEASURED = "not_measured"
    STALE = "stale"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureValue:
    """One figure with everything that makes it readable."""

    name: str
    title: str
    unit: str
    state: State
    value: float | None
    """Null exactly when nothing was measured (the denominator is empty)."""
    n: int
    """The denominator: searches, consumptions or invocations, as the formula says."""
    low: float | None
    high: float | None
    """95 % interval: Wilson for a rate, bootstrap over invocations for a mean or ratio, order statistics for a
    quantile; null where there are too few to tell."""
    as_of: datetime
    age: timedelta | None = None
    """Time from the newest landed search to `as_of`; null when nothing has landed."""
    reason: str = ""
    """Why it was not measured, or how old it is."""
    slice_by: str = "all"
    slice: str = "all"
    base: str = "known"
    """`known`: over searches answered or authoritatively empty; `exposed`: over answered ones."""
    credit: str = "all"
    """`all`: every consumption counts; `clean`: searches whose consumption is shared with another are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked: the same for all figures of one answer."""

    as_of: datetime
    newest: datetime | None
    """When the newest search landed; null when none has."""
    slice_by: str = "all"
    base: str = "known"
    credit: str = "all"
    stale_after: timedelta = STALE_AFTER


def figure(measure: Measure, parts: Sequence[tuple[Any, Any]], question: Question, slice_: str = "all") -> MeasureValue:
    """Return the figure of one slice from the (numerator, denominator) of its parts."""
    value, low, high, n = _estimate(measure, parts)
    age = max(question.as_of - question.newest, timedelta(0)) if question.newest is not None else None
    state, reason = _state(measure, value, age, question)
    return MeasureValue(
        name=measure.name,
        title=measure.title,
        unit=measure.unit,
        state=state,
        value=value,
        n=n,
        low=low,
        high=high,
        as_of=question.as_of,
        age=age,
        reason=reason,
        slice_by=question.slice_by,
        slice=slice_,
        base=question.base,
        credit=question.credit,
    )


def _state(measure: Measure, value: float | None, age: timedelta | None, question: Question) -> tuple[State, str]:
    if value is None:
        return State.NOT_MEASURED, "no search has landed yet" if age is None else f"no {measure.n} in scope"
    if age is not None and age > question.stale_after:
        return State.STALE, f"the newest search landed {_words(age)} before"
    return (State.TRUE_ZERO, "") if value == 0 else (State.VALUE, "")


def _words(age: timedelta) -> str:
    return f"{age.days} d" if age.days else f"{age.seconds // 3600} h"


def _estimate(
    measure: Measure, parts: Sequence[tuple[Any, Any]]
) -> tuple[float | None, float | None, float | None, int]:
    """Return value, low, high and n of a figure; the first three null when there is nothing to divide by."""
    n = int(sum(den or 0 for _, den in parts))
    ratios = [(float(num or 0), float(den or 0)) for num, den in parts] if measure.kind in _RATIOS else []
    if measure.kind == "deviation":
        found = effort.deviations([row for rows, _ in parts for row in rows or ()])
        ratios = [(deviation * agents, agents) for deviation, agents in found]
        n = len(found)
    if n == 0:
        return None, None, None, 0
    if measure.kind in ("median", "p95"):
        histogram: Counter[float] = Counter()
        for counts, _ in parts:
            histogram.update(counts or {})
        return (*quantile(histogram, 0.5 if measure.kind == "median" else 0.95), n)
    numerator, denominator = (sum(column) for column in zip(*ratios, strict=True))
    interval = wilson(numerator, denominator) if measure.kind == "rate" else bootstrap(ratios)
    return (numerator / denominator, *interval, n)


_RATIOS = ("rate", "mean", "ratio")


def wilson(hits: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Return the score interval of a proportion.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
    """
    share = hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return 0.0 if hits == 0 else centre - half, 1.0 if hits == n else centre + half


def bootstrap(parts: Sequence[tuple[float, float]]) -> tuple[float | None, float | None]:
    """Return the percentile interval of sum(num) / sum(den) when whole parts are drawn anew.

    A part holds whole invocations, so that the searches of one invocation, which are not independent, stay together.
    Null with fewer than two parts that have something to count. A draw without any denominator tells nothing.
    """
    filled = np.array([part for part in parts if part[0] > 0 or part[1] > 0])
    if len(filled) < 2:
        return None, None
    sums = _draws(len(filled)) @ filled
    drawn = sums[sums[:, 1] > 0]
    ratios = drawn[:, 0] / drawn[:, 1]
    low, high = np.percentile(ratios, [2.5, 97.5])
    return float(low), float(high)


@lru_cache(maxsize=256)
def _draws(parts: int) -> NDArray[np.float64]:
    """Return how often each part is drawn in each draw; the seed is fixed, so it is made once for each size."""
    random = np.random.default_rng(SEED)
    return random.multinomial(parts, [1 / parts] * parts, size=DRAWS).astype(np.float64)


def quantile(histogram: Mapping[float, int], p: float) -> tuple[float, float | None, float | None]:
    """Return a quantile (linear between neighbours) and its interval by order statistics; null below 6 values."""
    values = np.array(sorted(histogram))
    ends = np.cumsum([histogram[value] for value in values.tolist()])
    n = int(ends[-1])

    def at(position: float) -> float:
        below, share = divmod(position, 1)
        low, high = (values[np.searchsorted(ends, index, side="right")] for index in (below, min(below + 1, n - 1)))
        return float(low + (high - low) * share)

    half = Z95 * math.sqrt(n * p * (1 - p))
    low, high = math.floor(n * p - half), math.ceil(n * p + half)
    inside = n >= 6 and low >= 0 and high <= n - 1
    return at(p * (n - 1)), at(low) if inside else None, at(high) if inside else None
