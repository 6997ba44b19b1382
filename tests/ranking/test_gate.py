"""The gate opens for evidence, closes for harm, and says what is missing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from ville import BernoulliCS, BernoulliTest

from ranking.fixtures import failed_fixtures
from ranking.gate import Evidence, Figures, GateReport, Verdict, friction_alarms, judge
from ranking.interleave import Tally
from ranking.rerank import RerankSettings
from ranking.sequential import MIXTURE, Share, e_value, rise_bounds, share_interval, votes_needed
from ranking.store import GateRecord
from ranking.switch import Override, allowed, standing
from tests.ranking.build import NOW


def figures(mrr: float | None = 0.4, *, friction: float = 0.2, of: int = 3000) -> Figures:
    share = Share(round(friction * of), of)
    return Figures(
        consumed_mrr=mrr, searches=of, short_dwell=share, reformulated=share, grep_fallback=share, abandoned=share
    )


GOOD = Evidence(
    votes=Tally(a=120, b=240, ties=100),
    first_team=Share(230, 460),
    self_test=Tally(a=500, b=510),
    before=figures(0.40),
    after=figures(0.45),
    votes_a_week=25.0,
    now=NOW,
)


def verdict_of(**changes: object) -> Verdict:
    return judge(replace(GOOD, **changes)).verdict  # type: ignore[arg-type]  # a builder passes what the test names


def test_all_conditions_met_is_on() -> None:
    report = judge(GOOD, ranker_id="r")

    assert (report.verdict, report.missing, report.on_since) == (Verdict.ON, (), NOW)
    assert report.e_value > 20


def test_agents_that_prefer_the_base_order_roll_back() -> None:
    assert verdict_of(votes=Tally(a=240, b=120)) is Verdict.ROLLBACK


def test_more_friction_rolls_back_however_many_votes_were_won() -> None:
    assert verdict_of(after=figures(0.45, friction=0.3)) is Verdict.ROLLBACK


def test_an_uneven_first_team_coin_rolls_back() -> None:
    assert verdict_of(first_team=Share(330, 460)) is Verdict.ROLLBACK


def test_a_broken_fixture_rolls_back() -> None:
    assert verdict_of(fixtures_failed=("a single reading must not lift",)) is Verdict.ROLLBACK


def test_an_mrr_under_four_fifths_of_the_baseline_rolls_back() -> None:
    assert verdict_of(after=figures(0.31)) is Verdict.ROLLBACK


def test_six_weeks_on_without_a_risen_mrr_is_the_sunset() -> None:
    assert verdict_of(on_since=NOW - timedelta(weeks=6), after=figures(0.40)) is Verdict.ROLLBACK
    assert verdict_of(on_since=NOW - timedelta(weeks=5), after=figures(0.40)) is Verdict.INSUFFICIENT_EVIDENCE


def test_too_few_votes_say_how_many_weeks_are_missing() -> None:
    report = judge(replace(GOOD, votes=Tally(a=20, b=30)))

    assert report.verdict is Verdict.INSUFFICIENT_EVIDENCE
    assert report.weeks == pytest.approx((252 - 50) / 25, abs=0.1)
    assert any("agents prefer" in line for line in report.missing)


def test_many_votes_without_a_preference_are_futile() -> None:
    assert verdict_of(votes=Tally(a=2500, b=2510)) is Verdict.FUTILE


@pytest.mark.parametrize("field", ["before", "after", "self_test", "first_team"])
def test_what_was_not_measured_keeps_the_gate_shut(field: str) -> None:
    empty = {"before": Figures(), "after": Figures(), "self_test": Tally(), "first_team": Share(0, 0)}

    assert verdict_of(**{field: empty[field]}) is Verdict.INSUFFICIENT_EVIDENCE


def test_alarms_ring_past_their_bounds_and_not_at_them() -> None:
    at = friction_alarms(consumed_mrr=0.32, baseline_mrr=0.4, abandon_rate=0.5, reformulation_rate=0.6)
    past = friction_alarms(consumed_mrr=0.31, baseline_mrr=0.4, abandon_rate=0.51, reformulation_rate=0.61)
    unknown = friction_alarms(consumed_mrr=None, baseline_mrr=0.4, abandon_rate=None, reformulation_rate=None)

    assert at == unknown == []
    assert past == ["consumed_mrr", "search_abandon_rate", "reformulation_rate"]


def test_on_needs_the_rankers_own_verdict() -> None:
    report = judge(GOOD, ranker_id="mine")

    assert allowed("on", "mine", report, None) == ("on", "")
    assert allowed("on", "other", report, None)[0] == "shadow"
    assert allowed("on", "mine", None, None)[0] == "shadow"
    assert allowed("shadow", "mine", None, None) == ("shadow", "")


def test_an_override_holds_until_a_later_rollback() -> None:
    override = Override(why="pilot", at=NOW, ranker_id="mine", verdict=None)
    fallen = judge(replace(GOOD, votes=Tally(a=240, b=120), now=NOW + timedelta(days=1)), ranker_id="mine")

    assert allowed("on", "mine", None, override) == ("on", "overridden: pilot")
    assert allowed("on", "mine", fallen, override)[0] == "shadow"
    assert allowed("on", "mine", fallen, replace_at(override, days=2))[0] == "on"


def test_open_evidence_neither_ends_an_on_nor_revives_what_has_fallen() -> None:
    def day(number: int) -> timedelta:
        return timedelta(days=number)

    def judged(report: GateReport | None, **changes: object) -> GateReport:
        on_since, fell_at = standing("mine", report, override)
        evidence = replace(GOOD, on_since=on_since, fell_at=fell_at, **changes)  # type: ignore[arg-type]  # as above
        return judge(evidence, ranker_id="mine")

    override = Override(why="pilot", at=NOW - day(1), ranker_id="mine", verdict=None)
    undecided = {"votes": Tally(a=5, b=5)}
    earned = judged(None)
    still = judged(earned, now=NOW + day(1), **undecided)
    fallen = judged(still, now=NOW + day(2), votes=Tally(a=240, b=120))
    quiet = judged(fallen, now=NOW + day(3), **undecided)
    again = judged(quiet, now=NOW + day(4))

    verdicts = [report.verdict.name for report in (earned, still, fallen, quiet, again)]
    assert verdicts == ["ON", "INSUFFICIENT_EVIDENCE", "ROLLBACK", "INSUFFICIENT_EVIDENCE", "ON"]
    modes = [allowed("on", "mine", report, override)[0] for report in (earned, still, fallen, quiet, again)]
    assert modes == ["on", "on", "shadow", "shadow", "on"]
    assert still.on_since == NOW - day(1)


def replace_at(override: Override, *, days: int) -> Override:
    return Override(why=override.why, at=NOW + timedelta(days=days), ranker_id=override.ranker_id, verdict=None)


def test_verdicts_and_overrides_are_kept(tmp_path: Path) -> None:
    record = GateRecord(tmp_path / "ranking")
    report, override = judge(GOOD, ranker_id="r"), Override(why="w", at=NOW, ranker_id="r", verdict=Verdict.FUTILE)

    record.remember(report)
    record.remember(override)

    assert isinstance(record.report(), GateReport)
    assert (record.report(), record.override()) == (report, override)
    assert len((tmp_path / "ranking" / "gate.ndjson").read_text().splitlines()) == 2


@pytest.mark.parametrize("estimator", ["spec", "calibrated"])
def test_the_specifications_regression_fixtures_hold(estimator: str) -> None:
    assert failed_fixtures(RerankSettings(estimator=estimator)) == ()  # type: ignore[arg-type]  # parametrized text


def test_the_fixtures_can_fail() -> None:
    assert failed_fixtures(RerankSettings(reads_to_lift=0.0)) == ("a single reading must not lift",)
    assert failed_fixtures(RerankSettings(beta=-1.0)) != ()


def test_no_votes_are_no_evidence() -> None:
    assert e_value(0, 0) == pytest.approx(1.0)


def test_a_confidence_sequence_holds_the_rate_and_narrows() -> None:
    few, many = share_interval(Share(3, 10)), share_interval(Share(300, 1000))

    assert few[0] < many[0] < 0.3 < many[1] < few[1]
    assert share_interval(Share(0, 0)) == (0.0, 1.0)
    assert share_interval(Share(0, 20))[0] == 0.0
    assert share_interval(Share(20, 20))[1] == 1.0


@pytest.mark.parametrize("rate", [0.5, 0.6])
def test_an_independent_implementation_gives_the_same_evidence_and_interval_at_every_look(rate: float) -> None:
    votes = (np.random.default_rng(7).random(300) < rate).astype(float)
    wins = [Share(int(won), n) for n, won in enumerate(np.cumsum(votes), start=1)]

    theirs = BernoulliTest(0.5, prior=(MIXTURE, MIXTURE)).fit(votes).e_values_
    intervals = BernoulliCS(alpha=0.05, intersect=False).fit(votes)

    assert [e_value(share.hits, share.of) for share in wins] == pytest.approx(theirs.tolist(), rel=1e-9)
    low, high = zip(*(share_interval(share) for share in wins), strict=True)
    assert low == pytest.approx(tuple(intervals.lower_), abs=1e-6)
    assert high == pytest.approx(tuple(intervals.upper_), abs=1e-6)


def test_rise_bounds_hold_the_difference_and_know_nothing_without_trials() -> None:
    low, high = rise_bounds(Share(200, 1000), Share(300, 1000))

    assert 0.0 < low < 0.1 < high
    assert rise_bounds(Share(0, 0), Share(1, 2)) == (-1.0, 1.0)


def test_votes_needed_is_the_first_number_that_decides() -> None:
    needed = votes_needed(0.6, 20.0)

    assert needed == 252
