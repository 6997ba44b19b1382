"""The gate between shadow and on: the specification's three conditions, and evidence that bears daily looking.

`ON` needs every condition; `ROLLBACK` one that is shown to be broken; `FUTILE` says that more of the same traffic
will not decide; everything else is `INSUFFICIENT_EVIDENCE`, with what is missing and how many weeks that takes.
Source: F200 "shadow -> on", its tracking contract (friction, sunset), facts behind ADR 0603.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal

import msgspec

from ranking.interleave import Tally
from ranking.sequential import Share, e_value, rise_bounds, share_interval, votes_needed


class Verdict(StrEnum):
    """What may be done with a ranker."""

    ON = "ON"
    ROLLBACK = "ROLLBACK"
    FUTILE = "FUTILE"
    INSUFFICIENT_EVIDENCE = "INSUFFICIENT_EVIDENCE"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRules:
    """Thresholds, as data."""

    alpha: float = 0.05
    margin: float = 0.05
    """Rise of a friction rate that is still no rise: what 385 searches could not tell apart either."""
    votes_at_most: int = 5000
    """Decided invocations after which an undecided comparison is futile."""
    coin_alpha: float = 0.001
    """Of the check that the first-team coin is fair."""
    sunset: timedelta = timedelta(weeks=6)
    """After so long switched on without a rise of ConsumedMRR it goes back (F200, sunset signal)."""


RULES = GateRules()

MRR_FLOOR = 0.8
"""Share of the baseline's ConsumedMRR under which the ranking has got worse (F200, friction metric)."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """How searches fared in one regime; None where nobody measured."""

    consumed_mrr: float | None = None
    searches: int = 0
    short_dwell: Share = Share(0, 0)
    """Consumptions left within 2 s, of those with a known dwell."""
    reformulated: Share = Share(0, 0)
    grep_fallback: Share = Share(0, 0)
    abandoned: Share = Share(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that the gate looks at. `before` is shadow or off, `after` interleaved or on."""

    votes: Tally
    first_team: Share
    """How often team `a` chose first, of all first rounds."""
    self_test: Tally
    """Interleaving of the base order with itself; its coins must not prefer a team."""
    before: Figures
    after: Figures
    fixtures_failed: tuple[str, ...] = ()
    votes_a_week: float | None = None
    """Decided invocations that the present traffic gives; None where nothing tells."""
    on_since: datetime | None = None
    """Since when the ranker is on; None while it is not."""
    fell_at: datetime | None = None
    """When it last had to be switched off."""
    now: datetime


class Condition(msgspec.Struct, frozen=True):
    """One thing that has to hold."""

    name: str
    state: Literal["met", "broken", "unknown"]
    detail: str


class GateReport(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict and everything it rests on."""

    verdict: Verdict
    reason: str
    decided: int
    ties: int
    win_share: float | None
    low: float
    high: float
    """95 % confidence sequence of the share of votes for the reranked order."""
    e_value: float
    conditions: tuple[Condition, ...]
    missing: tuple[str, ...]
    weeks: float | None
    """Weeks to go at the present traffic; None where that cannot be said."""
    as_of: datetime
    ranker_id: str = ""
    on_since: datetime | None = None
    """Since when the ranker may be on, also while later evidence is open; the sunset counts from here."""
    fell_at: datetime | None = None
    """When it last had to be switched off; None since it has earned an `ON`."""
    alarms: tuple[str, ...] = ()
    """Friction measures past the bounds of the tracking contract."""


def judge(evidence: Evidence, rules: GateRules = RULES, *, ranker_id: str = "") -> GateReport:
    """Return the verdict. It may be asked for every day: a false `ON` stays below `alpha` over all looks together."""
    votes, threshold = evidence.votes, 1.0 / rules.alpha
    value = e_value(votes.b, votes.decided)
    low, high = share_interval(Share(votes.b, votes.decided), rules.alpha)
    conditions = (_preference(votes, value, threshold), *_conditions(evidence, rules))
    verdict, reason = _verdict(conditions, votes, rules)
    return GateReport(
        verdict=verdict,
        reason=reason,
        decided=votes.decided,
        ties=votes.ties,
        win_share=Share(votes.b, votes.decided).rate,
        low=low,
        high=high,
        e_value=value,
        conditions=conditions,
        missing=tuple(f"{condition.name}: {condition.detail}" for condition in conditions if condition.state != "met"),
        weeks=_weeks(evidence, threshold) if verdict is Verdict.INSUFFICIENT_EVIDENCE else None,
        as_of=evidence.now,
        ranker_id=ranker_id,
        **_standing(verdict, evidence),
        alarms=tuple(
            friction_alarms(
                consumed_mrr=evidence.after.consumed_mrr,
                baseline_mrr=evidence.before.consumed_mrr,
                abandon_rate=evidence.after.abandoned.rate,
                reformulation_rate=evidence.after.reformulated.rate,
            )
        ),
    )


def spec_conditions(before: Figures, after: Figures, *, margin: float = 0.0) -> list[str]:
    """Return which of the specification's conditions the plain figures break: MRR must rise, friction must not."""
    broken = []
    if before.consumed_mrr is None or after.consumed_mrr is None or after.consumed_mrr <= before.consumed_mrr:
        broken.append("consumed_mrr")
    for name in FRICTION:
        was, is_ = getattr(before, name).rate, getattr(after, name).rate
        if was is None or is_ is None or is_ - was > margin + 1e-12:
            broken.append(name)
    return broken


FRICTION: tuple[str, ...] = ("short_dwell", "reformulated", "grep_fallback")
"""Signs of a ranking that is read because it is shown, not because it helps (Goodhart)."""


def friction_alarms(
    *,
    consumed_mrr: float | None,
    baseline_mrr: float | None,
    abandon_rate: float | None,
    reformulation_rate: float | None,
) -> list[str]:
    """Return the measures past the tracking contract's bounds: MRR under 0.8 of its baseline, abandon over 50 %,
    reformulation over 60 %. What was not measured raises no alarm.
    """  # noqa: D205  # one sentence, two lines
    alarms = []
    if consumed_mrr is not None and baseline_mrr is not None and consumed_mrr < MRR_FLOOR * baseline_mrr - 1e-12:
        alarms.append("consumed_mrr")
    if abandon_rate is not None and abandon_rate > 0.5:
        alarms.append("search_abandon_rate")
    if reformulation_rate is not None and reformulation_rate > 0.6:
        alarms.append("reformulation_rate")
    return alarms


def _preference(votes: Tally, value: float, threshold: float) -> Condition:
    name = "agents prefer the reranked order"
    detail = f"{votes.b} of {votes.decided} decided invocations, e-value {value:.3g} of {threshold:.0f}"
    if value < threshold:
        return Condition(name, "unknown", detail)
    return Condition(name, "met" if votes.b * 2 > votes.decided else "broken", detail)


def _conditions(evidence: Evidence, rules: GateRules) -> list[Condition]:
    before, after = evidence.before, evidence.after
    return [
        _mrr(before.consumed_mrr, after.consumed_mrr),
        *(_no_rise(name, getattr(before, name), getattr(after, name), rules) for name in FRICTION),
        Condition(
            "regression fixtures hold",
            "broken" if evidence.fixtures_failed else "met",
            ", ".join(evidence.fixtures_failed) or "all",
        ),
        _fair("first-team coin is fair", evidence.first_team, rules),
        _fair("A/A self-test shows no preference", Share(evidence.self_test.b, evidence.self_test.decided), rules),
        _sunset(evidence, rules),
    ]


def _mrr(before: float | None, after: float | None) -> Condition:
    name = "ConsumedMRR rose"
    if before is None or after is None:
        return Condition(name, "unknown", "not measured before" if before is None else "not measured since")
    state: Literal["met", "broken", "unknown"] = (
        "met" if after > before else "broken" if after < MRR_FLOOR * before else "unknown"
    )
    return Condition(name, state, f"{before:.3f} before, {after:.3f} since")


def _no_rise(name: str, before: Share, after: Share, rules: GateRules) -> Condition:
    low, high = rise_bounds(before, after, rules.alpha)
    title = f"{name} did not rise by {rules.margin:.0%}"
    if not before.of or not after.of:
        return Condition(title, "unknown", f"not measured {'since' if before.of else 'before'}")
    was, is_ = f"{before.rate or 0:.1%} of {before.of}", f"{after.rate or 0:.1%} of {after.of}"
    detail = f"{was} before, {is_} since, rise at most {high:+.1%}"
    return Condition(title, "met" if high <= rules.margin else "broken" if low > 0 else "unknown", detail)


def _fair(name: str, share: Share, rules: GateRules) -> Condition:
    if share.of == 0:
        return Condition(name, "unknown", "not run")
    value = e_value(share.hits, share.of)
    detail = f"{share.hits} of {share.of}, e-value {value:.3g}"
    return Condition(name, "broken" if value >= 1 / rules.coin_alpha else "met", detail)


def _sunset(evidence: Evidence, rules: GateRules) -> Condition:
    name = f"on for less than {rules.sunset.days // 7} weeks, or with a risen ConsumedMRR"
    before, after = evidence.before.consumed_mrr, evidence.after.consumed_mrr
    if evidence.on_since is None or evidence.now - evidence.on_since < rules.sunset:
        return Condition(name, "met", "not due")
    risen = before is not None and after is not None and after > before
    return Condition(name, "met" if risen else "broken", f"on since {evidence.on_since:%Y-%m-%d}")


def _verdict(conditions: Sequence[Condition], votes: Tally, rules: GateRules) -> tuple[Verdict, str]:
    broken = [condition for condition in conditions if condition.state == "broken"]
    unknown = [condition for condition in conditions if condition.state == "unknown"]
    if broken:
        return Verdict.ROLLBACK, f"{broken[0].name}: {broken[0].detail}"
    if not unknown:
        return Verdict.ON, f"all {len(conditions)} conditions are met"
    if votes.decided >= rules.votes_at_most and unknown[0] is conditions[0]:
        return Verdict.FUTILE, f"{votes.decided} decided invocations show no preference"
    return Verdict.INSUFFICIENT_EVIDENCE, f"{len(unknown)} of {len(conditions)} conditions are open"


def _standing(verdict: Verdict, evidence: Evidence) -> dict[str, datetime | None]:
    if verdict is Verdict.ON:
        return {"on_since": evidence.on_since or evidence.now, "fell_at": None}
    if verdict is Verdict.ROLLBACK:
        return {"on_since": None, "fell_at": evidence.now}
    return {"on_since": evidence.on_since, "fell_at": evidence.fell_at}


def _weeks(evidence: Evidence, threshold: float) -> float | None:
    """Return how long the preference takes to show, were its share what it seems; at least 55 % is assumed."""
    votes, rate = evidence.votes, evidence.votes_a_week
    if not rate:
        return None
    seen = Share(votes.b, votes.decided).rate or 0.5
    needed = votes_needed(max(0.55, seen, 1 - seen), threshold)
    return None if needed is None else round(max(0.0, needed - votes.decided) / rate, 1)
