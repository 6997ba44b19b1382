"""Orders of anchors: what is popular and what is dormant. Pure.

A document that nobody was shown is not dormant in the same sense as one that was shown and passed over: the first may
be badly indexed, the second may be useless. They are told apart and never mixed in one order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

WORDS = {
    "consumed": "consumed",
    "shown_never_consumed": "shown, never opened",
    "never_shown": "never shown",
}
"""What the history of an anchor is called."""

_ORDER = ("consumed", "shown_never_consumed", "never_shown")


class Counted(Protocol):
    """What these orders look at."""

    @property
    def anchor(self) -> str: ...  # noqa: D102  # named like the field it reads
    @property
    def exposures(self) -> int: ...  # noqa: D102
    @property
    def consumptions(self) -> int: ...  # noqa: D102
    @property
    def consumptions_outside(self) -> int: ...  # noqa: D102
    @property
    def dormancy_days(self) -> int | None: ...  # noqa: D102
    @property
    def history(self) -> str: ...  # noqa: D102


A = TypeVar("A", bound=Counted)


def popular(anchors: Iterable[A]) -> list[A]:
    """Return the anchors consumed in the window, most often first, then by fewer exposures, then by name."""
    consumed = [anchor for anchor in anchors if anchor.consumptions + anchor.consumptions_outside]
    return sorted(consumed, key=lambda a: (-a.consumptions - a.consumptions_outside, a.exposures, a.anchor))


def dormant(anchors: Iterable[A], *, threshold: int = 90) -> list[A]:
    """Return anchors not consumed for `threshold` days.

    The longest asleep come first, then those shown in vain (most often first), then those never shown.
    """
    asleep = [anchor for anchor in anchors if anchor.dormancy_days is None or anchor.dormancy_days >= threshold]
    return sorted(asleep, key=lambda a: (_ORDER.index(a.history), -(a.dormancy_days or 0), -a.exposures, a.anchor))
