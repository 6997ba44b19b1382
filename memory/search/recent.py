"""What changed lately: how far back, and which kinds belong to which scope."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

RECENT_KINDS: dict[str, tuple[str, ...]] = {
    "docs": ("feature", "decision", "lesson", "plan", "phase", "research", "spec", "adr", "architecture", "canon"),
    "threads": ("discussion", "thread", "thread-digest", "session"),
    "memory": ("memory", "session-digest", "reflection", "lesson", "diary"),
    "trajectories": ("trajectory",),
}
"""Kinds by scope (F200 section 19); `all` has them all."""

_SPAN = re.compile(r"(?P<number>\d{1,6})\s*(?P<unit>[mhdw])", re.IGNORECASE)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class InvalidSinceError(ValueError):
    """A `since` that is neither a span nor a date."""


def cutoff(since: str, now: datetime) -> datetime:
    """Return the instant that `7d`, `24h`, `30m`, `2w`, a date or an instant means, aware UTC.

    Raises:
        InvalidSinceError: for any other text; what cannot be read is never compared as text.
    """
    text = since.strip()
    if (span := _SPAN.fullmatch(text)) is not None:
        try:
            return now - timedelta(**{_UNITS[span["unit"].lower()]: int(span["number"])})
        except OverflowError:
            return datetime(1970, 1, 1, tzinfo=UTC)
    try:
        stated = datetime.fromisoformat(text)
        return (stated if stated.tzinfo is not None else stated.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidSinceError(f"expected a span such as 7d or 24h, or an ISO date, got {since!r}") from None


@dataclass(frozen=True, slots=True)
class KindChoice:
    """Which kinds a listing shows, and what of the request could not be met."""

    kinds: tuple[str, ...]
    """Empty when the scope holds none of the wanted kinds."""
    dropped: tuple[str, ...] = ()
    """Wanted kinds that lie outside the scope."""
    nudge: str | None = None
    """Where the dropped kinds are to be found."""


def choose_kinds(scope: str, wanted: Sequence[str]) -> KindChoice:
    """Intersect the wanted kinds with those of a scope; a kind that falls out is named together with its scope."""
    held = RECENT_KINDS.get(scope)
    if not wanted:
        return KindChoice(held or ())
    if held is None:
        return KindChoice(tuple(wanted))
    kept = tuple(kind for kind in wanted if kind in held)
    dropped = tuple(kind for kind in wanted if kind not in held)
    if not dropped:
        return KindChoice(kept)
    places = {kind: [name for name, kinds in RECENT_KINDS.items() if kind in kinds] for kind in dropped}
    told = ", ".join(f"{kind} (scope {' or '.join(names) if names else 'all'})" for kind, names in places.items())
    return KindChoice(kept, dropped, f"Not in scope {scope}: {told}.")
