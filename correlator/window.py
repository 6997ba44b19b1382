"""The consumption window as data: how far after a search a call may still be its consumption."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPolicy:
    """How near a call must be to a search. Both bounds are inclusive and counted from the search's start."""

    name: str
    max_distance: int
    """Calls of the same agent; the next call has distance 1."""
    max_elapsed: timedelta
    combine: Literal["or", "and"] = "or"
    """`or`: one bound is enough; `and`: both must hold."""

    @property
    def sure_distance(self) -> int:
        """Calls up to this distance are inside, however long they took to come."""
        return self.max_distance if self.combine == "or" else 0

    def holds(self, distance: int, elapsed: timedelta) -> bool:
        """Return whether a call at this distance and time is inside."""
        near = distance <= self.max_distance
        soon = elapsed <= self.max_elapsed
        return near and soon if self.combine == "and" else near or soon


COMPOUND_V1 = WindowPolicy(name="compound-v1", max_distance=20, max_elapsed=timedelta(seconds=300))
"""The specification's window. Source: F200, "Consumption Window" (OQ-1)."""

CAPPED_V1 = WindowPolicy(name="capped-v1", max_distance=20, max_elapsed=timedelta(seconds=300), combine="and")
"""The other reading of one acceptance line (AC-A2 says cap): both bounds at once."""

CODING_V1 = WindowPolicy(name="coding-v1", max_distance=150, max_elapsed=timedelta(seconds=300))
"""For coding agents: from search to read it was 131 calls at the 99th percentile of 9,107 real reads."""

POLICIES: tuple[WindowPolicy, ...] = (COMPOUND_V1, CAPPED_V1, CODING_V1)
"""Every named window policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrelatorPolicy:
    """Everything about attribution that may be set."""

    window: WindowPolicy = COMPOUND_V1
    idle_timeout: timedelta = timedelta(hours=24)
    """Event time without a call after which an invocation without an end is closed; a wait for a person's permission
    has been seen to take 12.7 h."""
    end_grace: timedelta = timedelta(seconds=60)
    """How much later than the end a call may start, by the skew of two sources, without reopening the invocation."""
    max_open_calls: int = 256
    """A trajectory in progress is reported up to this many calls; a longer one when it is closed."""


DEFAULT_POLICY = CorrelatorPolicy()


def policy_named(name: str) -> WindowPolicy:
    """Return the window policy of this name.

    Raises:
        ValueError: when there is none.
    """
    for policy in POLICIES:
        if policy.name == name:
            return policy
    raise ValueError(f"expected a window policy in {[policy.name for policy in POLICIES]}, got {name!r}")
