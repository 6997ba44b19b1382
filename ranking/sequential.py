"""Evidence that may be looked at every day: an e-process for votes, confidence sequences for rates.

Both hold at every sample size at once: stopping at a lucky moment, or looking sixty times, breaks neither.
Source: Howard, Ramdas, McAuliffe and Sekhon 2021 (mixture boundaries); Waudby-Smith et al. 2024 (asymptotic ones).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.special import betaln

MIXTURE = 50.0
"""Beta(a, a) of the alternative: shares between 0.4 and 0.6 are what rankers differ by. Decides 60 % at a median of
220 votes; a wider mixture is quicker on shares nobody sees."""


@dataclass(frozen=True, slots=True)
class Share:
    """How often something happened."""

    hits: int
    of: int

    @property
    def rate(self) -> float | None:
        """In [0, 1]; None without a trial."""
        return self.hits / self.of if self.of else None


def e_value(wins: int, n: int, mixture: float = MIXTURE) -> float:
    """Return the evidence against a fair coin: 20 is what a 5 % test asks for; 1 without votes."""
    return math.exp(min(700.0, log_e_value(wins, n, mixture)))


def log_e_value(wins: float, n: float, mixture: float = MIXTURE) -> float:
    """Return the natural logarithm of `e_value`; `wins` and `n` may be fractions, for planning."""
    return float(betaln(mixture + wins, mixture + n - wins) - betaln(mixture, mixture)) + n * math.log(2.0)


def share_interval(share: Share, alpha: float = 0.05) -> tuple[float, float]:
    """Return the 1 - alpha confidence sequence of a rate: every p that a uniform mixture does not reject."""
    if share.of == 0:
        return 0.0, 1.0
    hits, misses = share.hits, share.of - share.hits
    mixture = float(betaln(1 + hits, 1 + misses))

    def rejected(p: float) -> bool:
        likelihood = (hits * math.log(p) if hits else 0.0) + (misses * math.log1p(-p) if misses else 0.0)
        return mixture - likelihood >= math.log(1 / alpha)

    middle = min(max(hits / share.of, 1e-9), 1 - 1e-9)
    low = 0.0 if hits == 0 else _edge(rejected, 1e-12, middle)
    high = 1.0 if misses == 0 else _edge(rejected, 1 - 1e-12, middle)
    return low, high


def rise_bounds(before: Share, after: Share, alpha: float = 0.05) -> tuple[float, float]:
    """Return one-sided lower and upper bounds of `after - before`, each valid at every sample size; (-1, 1) unknown.

    Asymptotic, by a normal mixture tuned to 500 effective trials; a rate of 0 or 1 is taken one trial away from it.
    """
    if not before.of or not after.of:
        return -1.0, 1.0
    variance = sum(_variance(share) / share.of for share in (before, after))
    trials = before.of * after.of / (before.of + after.of)
    tuned = trials / 500.0
    width = math.sqrt(variance * (tuned + 1) / tuned * 2 * math.log(1 + math.sqrt(tuned + 1) / (2 * alpha)))
    difference = after.hits / after.of - before.hits / before.of
    return difference - width, difference + width


def votes_needed(share: float, threshold: float, mixture: float = MIXTURE) -> int | None:
    """Return how many decided votes a true share needs until the e-value reaches a threshold; None beyond a million."""
    n, step = 0, 1
    while log_e_value(share * (n + step), n + step, mixture) < math.log(threshold):
        n, step = n + step, step * 2
        if n > 1_000_000:
            return None
    low, high = n, n + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if log_e_value(share * middle, middle, mixture) >= math.log(threshold) else (middle, high)
        )
    return high


def _variance(share: Share) -> float:
    rate = (share.hits + 1) / (share.of + 2)
    return rate * (1 - rate)


def _edge(rejected: Callable[[float], bool], outside: float, inside: float) -> float:
    """Bisect to where rejection begins."""
    for _ in range(60):
        middle = (outside + inside) / 2
        outside, inside = (middle, inside) if rejected(middle) else (outside, middle)
    return inside
