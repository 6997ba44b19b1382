"""A circuit breaker: a provider that fails is left alone for a while; a dead host costs one timeout a minute."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

COOL_DOWN = timedelta(seconds=60)
FAILURES_TO_OPEN = 2


@dataclass(slots=True)
class Breaker:
    """Counts failures in a row; opens for a minute, then lets one attempt through."""

    failures: int = 0
    open_until: datetime | None = None
    reason: str = ""

    def allows(self, now: datetime) -> bool:
        """Tell whether the provider may be asked."""
        return self.open_until is None or now >= self.open_until

    def succeeded(self) -> None:
        """Note an answer."""
        self.failures, self.open_until, self.reason = 0, None, ""

    def failed(self, now: datetime, reason: str) -> None:
        """Note a failure; the second in a row, and the first after a pause, opens the breaker."""
        self.failures += 1
        self.reason = reason
        if self.failures >= FAILURES_TO_OPEN:
            self.open_until = now + COOL_DOWN
