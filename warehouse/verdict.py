"""Why a figure is bad, in the order in which causes hide each other: no result, no trace, then the order of results.

A search that found nothing cannot be consumed whatever the ranking does, and a consumption that nobody could attribute
looks like none. So ranking is blamed last, and never while searches come back empty. Pure.

Source: F200, HW-7 (the verdict must not blame ranking for empty recall).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from warehouse.values import MeasureValue

Layer = Literal["recall", "attribution", "ranking", "none", "unknown"]

ENOUGH = 20
"""Searches below which nothing is concluded (the reference's own floor for a figure)."""

ZERO_HIT = 0.30
"""Share of empty searches from which recall is named first. F200 reports 75.3 % at its collapse."""

NOT_COUNTED = 0.20
"""Share of searches whose outcome is unknown from which attribution is named."""

AMBIGUOUS = 0.30
"""Share of the searches with a hit whose consumption is shared with another, from which attribution is named."""

LOW_MRR = 0.20
"""ConsumedMRR over answered searches below which, with the other layers sound, the order of results is named."""

_SOUND = ("counted", "no_results")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one layer looks like."""

    layer: Layer
    suspect: bool
    because: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The first suspect layer, and what was seen at every layer, in the order they were looked at."""

    verdict: Layer
    because: str
    findings: tuple[Finding, ...]


def judge(
    known: Mapping[str, MeasureValue], exposed: Mapping[str, MeasureValue], clean: Mapping[str, MeasureValue]
) -> Diagnosis:
    """Return the diagnosis of a window.

    Args:
        known: Measures by name, over searches with a known outcome.
        exposed: The same over searches that showed something.
        clean: The same as `known` without searches whose consumption is shared.
    """
    findings = (_recall(known), _attribution(known, clean), _ranking(known, exposed))
    searches = known["result_status_counted"].n
    if searches < ENOUGH:
        return Diagnosis("unknown", f"only {searches} searches in the window, {ENOUGH} are needed", findings)
    for finding in findings:
        if finding.suspect:
            return Diagnosis(finding.layer, finding.because, findings)
    return Diagnosis("none", "no layer is out of its bounds", findings)


def _value(values: Mapping[str, MeasureValue], name: str) -> float:
    return values[name].value or 0.0


def _recall(known: Mapping[str, MeasureValue]) -> Finding:
    zero = known["zero_hit_rate"]
    words = (
        "no search with a known count" if zero.value is None else f"{zero.value:.0%} of {zero.n} searches were empty"
    )
    return Finding("recall", zero.value is not None and zero.value >= ZERO_HIT, f"{words} (bound {ZERO_HIT:.0%})")


def _attribution(known: Mapping[str, MeasureValue], clean: Mapping[str, MeasureValue]) -> Finding:
    unknown = sum(
        value.value or 0.0
        for name, value in known.items()
        if name.startswith("result_status_") and name.removeprefix("result_status_") not in _SOUND
    )
    hits = known["first_consumed_rank"].n
    shared = (known["consumed_mrr"].n - clean["consumed_mrr"].n) / hits if hits else 0.0
    because = (
        f"{unknown:.0%} of searches have no known outcome (bound {NOT_COUNTED:.0%}), "
        f"{shared:.0%} of the searches with a hit share it with another (bound {AMBIGUOUS:.0%})"
    )
    return Finding("attribution", unknown >= NOT_COUNTED or shared >= AMBIGUOUS, because)


def _ranking(known: Mapping[str, MeasureValue], exposed: Mapping[str, MeasureValue]) -> Finding:
    if _value(known, "zero_hit_rate") >= ZERO_HIT:
        return Finding("ranking", False, "not judged: an empty answer has no order")
    mrr = exposed["consumed_mrr"]
    words = (
        "nothing was shown" if mrr.value is None else f"ConsumedMRR is {mrr.value:.2f} over {mrr.n} answered searches"
    )
    return Finding("ranking", mrr.value is not None and mrr.value < LOW_MRR, f"{words} (bound {LOW_MRR:.2f})")


def by_name(values: Sequence[MeasureValue]) -> dict[str, MeasureValue]:
    """Return unsliced figures by name."""
    return {value.name: value for value in values}
