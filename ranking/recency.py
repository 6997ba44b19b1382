"""How a document's freshness fades, by kind.

Fractional, not exponential: after one half-life 1/2 is left, after three 1/4, so that old design documents keep a
long tail. Source: F200 "recency_decay", KD-5, KD-6.
"""

from __future__ import annotations

from datetime import UTC, datetime

HALF_LIFE_DAYS: dict[str, float | None] = {
    "adr": None,
    "lesson": None,
    "canon": None,
    "feature": 90.0,
    "decision": 90.0,
    "plan": 45.0,
    "research": 45.0,
    "phase": 45.0,
    "discussion": 21.0,
    "reflection": 21.0,
    "thread": 14.0,
    "session": 14.0,
    "thread-digest": 14.0,
    "session-digest": 14.0,
}
"""Days by kind after which half is left; None never fades. Source: F200, the table of OQ-2."""

OTHER_HALF_LIFE_DAYS = 45.0
"""Kinds outside the table: the middle bucket."""

UNKNOWN_AGE = 0.5
"""Factor where nobody knows the age: neither fresh nor old."""


def half_life_days(kind: str) -> float | None:
    """Return the half-life of a kind; None when it never fades."""
    return HALF_LIFE_DAYS.get(kind, OTHER_HALF_LIFE_DAYS)


def recency(kind: str, age: float | None) -> float:
    """Return how fresh a document of this kind and age in days still is, in (0, 1].

    A date in the future is a clock's error and counts as now. An unknown or unreadable age is neutral.
    """
    half_life = HALF_LIFE_DAYS.get(kind, OTHER_HALF_LIFE_DAYS)
    if half_life is None:
        return 1.0
    if age is None or age != age:
        return UNKNOWN_AGE
    return half_life / (half_life + age) if age > 0.0 else 1.0


def age_days(updated_at: datetime | None, now: datetime) -> float | None:
    """Return the days since an aware instant; None when it is unknown."""
    return None if updated_at is None else (now - updated_at).total_seconds() / 86400.0


def read_date(text: str) -> datetime | None:
    """Return the instant that a document states, UTC where it names no zone; None when it cannot be read."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
