"""Freshness fades by kind."""

from __future__ import annotations

import math

import pytest

from ranking.recency import HALF_LIFE_DAYS, recency


@pytest.mark.parametrize("kind", [kind for kind, days in HALF_LIFE_DAYS.items() if days])
def test_after_two_half_lives_a_third_is_left(kind: str) -> None:
    days = HALF_LIFE_DAYS[kind]
    assert days is not None

    assert recency(kind, 2 * days) == pytest.approx(1 / 3)


@pytest.mark.parametrize("kind", ["adr", "lesson", "canon"])
def test_stable_kinds_never_fade(kind: str) -> None:
    assert recency(kind, 10_000) == 1.0


def test_a_date_in_the_future_is_now() -> None:
    assert recency("feature", -40) == 1.0


@pytest.mark.parametrize("age", [None, math.nan])
def test_an_unknown_age_is_neutral(age: float | None) -> None:
    assert recency("feature", age) == 0.5


def test_an_unknown_kind_fades_in_the_middle_bucket() -> None:
    assert recency("made-up", 45) == 0.5
