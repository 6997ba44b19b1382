"""One recall fixture: a question, the document that must come, the documents that must not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """What a search has to find. Patterns are whole anchors with `*` for any text."""

    query: str
    expected: str
    k: int
    negative: str = ""

    @property
    def kind(self) -> Literal["recall", "drill_down"]:
        """A fixture with a question and an expected anchor measures recall; any other is a drill-down."""
        return "recall" if self.query and self.expected else "drill_down"


@dataclass(frozen=True, slots=True, kw_only=True)
class FixtureResult:
    """What a search made of a fixture."""

    hit: bool
    rank: int | None
    """1-based rank of the first expected anchor; null outside the first k."""
    guard_violated: bool
    """An anchor that must not come stands in the first k."""


def evaluate(fixture: Fixture, results: Sequence[str]) -> FixtureResult:
    """Return how the first k results fare against a fixture.

    Source: F200 HW-5; exact anchors count as recall and negative guards are looked at.
    """
    top = results[: fixture.k]
    rank = next((place for place, anchor in enumerate(top, start=1) if _fits(fixture.expected, anchor)), None)
    violated = bool(fixture.negative) and any(_fits(fixture.negative, anchor) for anchor in top)
    return FixtureResult(hit=rank is not None, rank=rank, guard_violated=violated)


def _fits(pattern: str, anchor: str) -> bool:
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), anchor) is not None
