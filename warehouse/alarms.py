"""The specification's alarms and its sunset as code: state, since when, and why. Pure.

An alarm is raised by an interval that excludes its bound, not by a bad day: over few searches it stays quiet and says
that there are too few. Its state is a function of the figures of each day in order, so a replay gives the same history.

Source: F200, "Eval / Tracking Contract" (Friction Metric, Sunset Signal).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from warehouse.values import MeasureValue

Status = Literal["quiet", "raised", "too_few"]

MRR_OF_BASELINE = 0.8
ABANDON = 0.50
REFORMULATION = 0.60
SUNSET_DAYS = 42
"""Six weeks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One alarm on one day."""

    name: str
    day: date
    status: Status
    value: float | None
    bound: float | None
    n: int
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A stretch of days in which an alarm had one status."""

    name: str
    status: Status
    first: date
    last: date
    because: str
    """The reason given on its first day."""


def look(values: Mapping[str, MeasureValue], day: date, *, baseline_mrr: float | None) -> list[Alarm]:
    """Return every alarm of one day.

    Args:
        values: Unsliced figures by name, of the window that ends that day.
        baseline_mrr: ConsumedMRR of the shadow baseline; null while there is none, and then that alarm stays quiet.
    """
    mrr = values["consumed_mrr"]
    bound = None if baseline_mrr is None else baseline_mrr * MRR_OF_BASELINE
    return [
        _alarm("consumed_mrr_below_0.8_baseline", mrr, bound, day, above=False),
        _alarm("search_abandon_rate", values["search_abandon_rate"], ABANDON, day, above=True),
        _alarm("reformulation_rate", values["reformulation_rate"], REFORMULATION, day, above=True),
    ]


def _alarm(name: str, value: MeasureValue, bound: float | None, day: date, *, above: bool) -> Alarm:
    status, because = _judge(value, bound, above=above)
    return Alarm(name=name, day=day, status=status, value=value.value, bound=bound, n=value.n, because=because)


def _judge(value: MeasureValue, bound: float | None, *, above: bool) -> tuple[Status, str]:
    if bound is None:
        return "quiet", "no baseline to compare with"
    if value.value is None:
        return "too_few", value.reason
    beyond = value.value > bound if above else value.value < bound
    if not beyond:
        return "quiet", f"{value.value:.3f} is within {bound:.3f}"
    sure = value.low is not None and value.high is not None and (value.low > bound if above else value.high < bound)
    side = "above" if above else "below"
    interval = "" if value.low is None else f" ({value.low:.3f} to {value.high:.3f})"
    words = f"{value.value:.3f}{interval} over {value.n} is {side} {bound:.3f}"
    return ("raised", words) if sure else ("too_few", f"{words}, but its interval reaches it")


def history(days: Sequence[Alarm]) -> list[Period]:
    """Return the stretches of one alarm, given its days in order."""
    periods: list[Period] = []
    for alarm in days:
        if periods and periods[-1].status == alarm.status:
            last = periods[-1]
            periods[-1] = Period(
                name=last.name, status=last.status, first=last.first, last=alarm.day, because=last.because
            )
        else:
            periods.append(
                Period(name=alarm.name, status=alarm.status, first=alarm.day, last=alarm.day, because=alarm.because)
            )
    return periods


@dataclass(frozen=True, slots=True)
class Sunset:
    """Whether the changed order has had its time without making anything better."""

    due: bool
    because: str


def sunset(on_since: date | None, today: date, *, before: MeasureValue, now: MeasureValue) -> Sunset:
    """Return whether the changed order is to be rolled back: on for six weeks and ConsumedMRR no better.

    Better means that the interval of now lies above the value of before.
    """
    if on_since is None:
        return Sunset(False, "the changed order is not on")
    age = (today - on_since).days
    if age < SUNSET_DAYS:
        return Sunset(False, f"on for {age} of {SUNSET_DAYS} days")
    if before.value is None or now.value is None or now.low is None:
        return Sunset(False, f"on for {age} days, but too few searches to compare")
    if now.low > before.value:
        return Sunset(False, f"ConsumedMRR rose from {before.value:.3f} to {now.value:.3f} ({now.low:.3f} at least)")
    return Sunset(True, f"after {age} days ConsumedMRR went from {before.value:.3f} to {now.value:.3f}: no better")
