"""Alarms fire on what is sure, and a bad figure is blamed on the first layer that can explain it."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from streams.recall import RecallEvent, ResultStatus
from tests.warehouse.builders import T0, a_consumption, a_recall, a_warehouse
from warehouse import alarms
from warehouse.values import MeasureValue, State, bootstrap, quantile, wilson
from warehouse.verdict import Diagnosis


def a_value(value: float | None, n: int = 400, low: float | None = None, high: float | None = None) -> MeasureValue:
    known = value is not None
    return MeasureValue(
        name="consumed_mrr",
        title="",
        unit="share",
        state=State.VALUE if known else State.NOT_MEASURED,
        value=value,
        n=n,
        low=low,
        high=high,
        as_of=T0,
        reason="" if known else "no searches in scope",
    )


def looked(
    mrr: MeasureValue, abandon: MeasureValue, reformulation: MeasureValue, baseline: float | None = 0.5
) -> dict[str, str]:
    values = {"consumed_mrr": mrr, "search_abandon_rate": abandon, "reformulation_rate": reformulation}
    return {alarm.name: alarm.status for alarm in alarms.look(values, T0.date(), baseline_mrr=baseline)}


def test_each_alarm_is_raised_beyond_its_bound_and_quiet_at_it() -> None:
    beyond = looked(
        a_value(0.3, low=0.25, high=0.39), a_value(0.6, low=0.51, high=0.7), a_value(0.7, low=0.61, high=0.8)
    )
    at_bound = looked(a_value(0.4, low=0.4, high=0.4), a_value(0.5, low=0.5, high=0.5), a_value(0.6, low=0.6, high=0.6))

    assert set(beyond.values()) == {"raised"}
    assert set(at_bound.values()) == {"quiet"}


def test_an_interval_that_reaches_the_bound_raises_nothing() -> None:
    few = looked(a_value(0.3, low=0.1, high=0.6), a_value(0.6, low=0.3, high=0.8), a_value(None))

    assert set(few.values()) == {"too_few"}


def test_without_a_baseline_the_order_cannot_have_become_worse() -> None:
    quiet = looked(a_value(0.01, low=0.0, high=0.02), a_value(0.1), a_value(0.1), baseline=None)

    assert quiet["consumed_mrr_below_0.8_baseline"] == "quiet"


def test_the_history_tells_when_a_status_began_and_why() -> None:
    raised = a_value(0.7, low=0.6, high=0.8)
    days = [
        alarm
        for offset, abandon in enumerate([a_value(0.1), raised, raised, a_value(0.2)])
        for alarm in alarms.look(
            {"consumed_mrr": a_value(0.5), "search_abandon_rate": abandon, "reformulation_rate": a_value(0.1)},
            T0.date() + timedelta(days=offset),
            baseline_mrr=None,
        )
        if alarm.name == "search_abandon_rate"
    ]

    periods = alarms.history(days)

    assert [(p.status, p.first.day, p.last.day) for p in periods] == [
        ("quiet", 3, 3),
        ("raised", 4, 5),
        ("quiet", 6, 6),
    ]
    assert "above 0.500" in periods[1].because


@pytest.mark.parametrize(
    ("on_since", "now", "due"),
    [
        (None, a_value(0.4, low=0.39), False),
        (date(2026, 11, 1), a_value(0.4, low=0.39), False),  # 41 days
        (date(2026, 10, 31), a_value(0.4, low=0.39), True),  # 42 days and no better
        (date(2026, 10, 31), a_value(0.6, low=0.55), False),
        (date(2026, 10, 31), a_value(None), False),
    ],
)
def test_the_sun_sets_after_six_weeks_without_improvement(on_since: date | None, now: MeasureValue, due: bool) -> None:
    assert alarms.sunset(on_since, date(2026, 12, 12), before=a_value(0.4), now=now).due is due


def diagnosed(root: Path, recalls: list[RecallEvent]) -> Diagnosis:
    return a_warehouse(root, recalls).diagnose(T0, 7)


def searches(n: int, kind: str) -> list[RecallEvent]:
    match kind:
        case "empty":
            fields = {"result_status": ResultStatus.NO_RESULTS, "candidates": (), "zero_hit": True}
        case "lost":
            fields = {"result_status": ResultStatus.PARSER_MISS, "candidates": ()}
        case "good":
            fields = {"consumed": (a_consumption(1),), "clarity": "clean"}
        case "shared":
            fields = {"consumed": (a_consumption(1),), "clarity": "ambiguous"}
        case _:
            fields = {"consumed": ()}
    return [a_recall(f"{kind}-{index}", **fields) for index in range(n)]


@pytest.mark.parametrize(
    ("mix", "verdict"),
    [
        ({"empty": 75, "ignored": 25}, "recall"),  # the reference's collapse: never the order's fault
        ({"empty": 75, "lost": 60, "ignored": 25}, "recall"),
        ({"lost": 30, "ignored": 70}, "attribution"),
        ({"shared": 40, "good": 40, "empty": 5}, "attribution"),
        ({"ignored": 90, "good": 10}, "ranking"),
        ({"good": 80, "ignored": 20}, "none"),
        ({"empty": 10}, "unknown"),
    ],
)
def test_a_bad_figure_is_blamed_on_the_first_layer_that_explains_it(
    tmp_path: Path, mix: dict[str, int], verdict: str
) -> None:
    recalls = [recall for kind, n in mix.items() for recall in searches(n, kind)]

    assert diagnosed(tmp_path, recalls).verdict == verdict


def test_ranking_is_not_even_judged_while_answers_are_empty(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, searches(75, "empty") + searches(25, "ignored"))

    ranking = next(finding for finding in found.findings if finding.layer == "ranking")
    assert not ranking.suspect
    assert ranking.because == "not judged: an empty answer has no order"


def test_wilson_gives_the_published_interval() -> None:
    low, high = wilson(10, 20)

    assert (round(low, 4), round(high, 4)) == (0.2993, 0.7007)
    assert wilson(0, 5)[0] == 0.0
    assert wilson(5, 5)[1] == 1.0


def test_the_bootstrap_is_the_same_every_time_and_holds_the_value() -> None:
    parts = [(float(n % 3), 1.0) for n in range(60)]

    low, high = bootstrap(parts)

    assert bootstrap(parts) == (low, high)
    assert low is not None
    assert high is not None
    assert low < 1.0 < high


def test_costs_without_a_hit_widen_the_interval_of_a_ratio() -> None:
    hits = [(100.0, 1.0)] * 20

    low, high = bootstrap([*hits, *[(900.0, 0.0)] * 20])

    assert low is not None
    assert high is not None
    assert low < 1000 < high


def test_a_median_between_two_values_is_their_middle() -> None:
    assert quantile({1: 1, 3: 1}, 0.5) == (2.0, None, None)
    assert quantile({5: 9}, 0.5)[0] == 5.0
