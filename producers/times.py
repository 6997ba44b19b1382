"""Instants as sources write them, as aware UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from producers.records import whole

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant(value: Any) -> datetime | None:
    """Return an ISO-8601 instant as aware UTC, or null for anything else; one without a zone is taken as UTC."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at.astimezone(UTC) if at.tzinfo is not None else at.replace(tzinfo=UTC)


def from_nanos(value: Any) -> datetime | None:
    """Return the instant so many nanoseconds after 1970, cut to microseconds; null for anything else."""
    nanos = whole(value)
    return None if nanos is None else _after_epoch(nanos // 1000)


def from_millis(value: Any) -> datetime | None:
    """Return the instant so many milliseconds after 1970; null for anything else."""
    if isinstance(value, float):
        return _after_epoch(round(value * 1000))
    millis = whole(value)
    return None if millis is None else _after_epoch(millis * 1000)


def _after_epoch(micros: int) -> datetime | None:
    try:
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return None
