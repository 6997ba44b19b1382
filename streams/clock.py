"""The present as an argument, so that decisions can be tested and replayed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the present as an aware UTC datetime."""

    def now(self) -> datetime:
        """Return the present, aware, UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the machine's present, aware, UTC."""
        return datetime.now(UTC)


@dataclass(slots=True)
class FixedClock:
    """A clock that stands still until it is set; for tests and replays."""

    at: datetime

    def now(self) -> datetime:
        """Return the instant it was set to."""
        return self.at
