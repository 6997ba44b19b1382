"""What another ranker would have earned on logged searches, without showing its lists to anyone.

    IPS = 1/N sum over consumptions of c / theta(rank shown) x 1 / rank under the other ranker

A consumption far down the list stands for the many that were never looked at there: it is weighed by the inverse of
the chance that its place is examined. Without that, replay prefers whatever ranker wrote the log. An estimate is
refused, not rounded, where the log cannot carry it. Source: Joachims, Swaminathan and Schnabel 2017; Owen 2013 (ESS).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedSearch:
    """One search as it was shown, and what was opened of it."""

    invocation: str
    shown: Sequence[str]
    """Anchors in the order shown."""
    consumed: Mapping[str, float]
    """Credit in (0, 1] by anchor."""
    chances: Mapping[str, float] = field(default_factory=dict)
    """Chance of each anchor to be shown at all, in (0, 1]; 1 where it is not named. Multiplies the chance of its place
    to be examined. Not the chance of its place: summed over the places it may take, that would count it several times.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRules:
    """When an estimate is refused, and how its interval is drawn."""

    ess_at_least: float = 200.0
    coverage_at_least: float = 0.9
    theta_at_least: float = 0.1
    """Examination chances below are raised to this, so that no single consumption outweighs ten others."""
    draws: int = 500


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """The estimate of one ranker."""

    searches: int
    invocations: int
    consumptions: int
    ips: float | None
    """Mean over searches, per search; None without a search."""
    snips: float | None
    """Mean reciprocal rank of a consumption, self-normalised, in (0, 1]."""
    ips_interval: tuple[float, float] | None
    """95 %, whole invocations drawn together."""
    snips_interval: tuple[float, float] | None
    ess: float
    coverage: float | None
    """Share of consumed anchors that the ranker's own pool holds."""
    refused: tuple[str, ...]
    """Why no verdict may rest on it; empty when one may."""


def replay(
    searches: Sequence[LoggedSearch],
    orders: Sequence[Sequence[str]],
    theta: Mapping[int, float],
    *,
    rules: ReplayRules | None = None,
    seed: int = 0,
) -> Replay:
    """Return what the ranker that gave `orders` (one a search) would have earned; `theta` is by 1-based rank.

    Raises:
        ValueError: unless there is one order a search.
    """
    rules = rules or ReplayRules()
    if len(searches) != len(orders):
        raise ValueError(f"expected one order a search, got {len(orders)} for {len(searches)}")
    clusters = {name: n for n, name in enumerate(dict.fromkeys(search.invocation for search in searches))}
    v, y, owner, outside = _weighed(searches, orders, theta, clusters, rules)
    size = _sums(np.array([clusters[search.invocation] for search in searches], dtype=np.int64), len(clusters))
    weight, gain = _sums(owner, len(clusters), v), _sums(owner, len(clusters), v * y)
    ess = float(v.sum() ** 2 / (v**2).sum()) if len(v) else 0.0
    consumed = len(v) + outside
    coverage = len(v) / consumed if consumed else None
    intervals = _intervals(gain, weight, size, rules.draws, seed)
    return Replay(
        searches=len(searches),
        invocations=len(clusters),
        consumptions=consumed,
        ips=float(gain.sum() / size.sum()) if searches else None,
        snips=float(gain.sum() / weight.sum()) if len(v) else None,
        ips_interval=intervals[0],
        snips_interval=intervals[1],
        ess=ess,
        coverage=coverage,
        refused=_refusals(ess, coverage, rules),
    )


def _weighed(
    searches: Sequence[LoggedSearch],
    orders: Sequence[Sequence[str]],
    theta: Mapping[int, float],
    clusters: Mapping[str, int],
    rules: ReplayRules,
) -> tuple[Floats, Floats, NDArray[np.int64], int]:
    """Return weight, gain and invocation of each consumption in both lists, and how many the new pool lacks."""
    weights, gains, owners, outside = [], [], [], 0
    for search, order in zip(searches, orders, strict=True):
        shown = {anchor: rank for rank, anchor in enumerate(search.shown, start=1)}
        ranks = {anchor: rank for rank, anchor in enumerate(order, start=1)}
        for anchor, credit in search.consumed.items():
            if anchor not in ranks or anchor not in shown:
                outside += 1
                continue
            chance = theta.get(shown[anchor], rules.theta_at_least) * search.chances.get(anchor, 1.0)
            weights.append(credit / max(rules.theta_at_least, chance))
            gains.append(1.0 / ranks[anchor])
            owners.append(clusters[search.invocation])
    return (
        np.asarray(weights, dtype=np.float64),
        np.asarray(gains, dtype=np.float64),
        np.array(owners, np.int64),
        outside,
    )


def _sums(owner: NDArray[np.int64], size: int, values: Floats | None = None) -> Floats:
    return np.bincount(owner, values, minlength=size).astype(np.float64)


def consumed_mrr(searches: Sequence[LoggedSearch], orders: Sequence[Sequence[str]]) -> float | None:
    """Return the plain replayed ConsumedMRR: shown beside the estimate, because it prefers the logging ranker."""
    if not searches:
        return None
    total = 0.0
    for search, order in zip(searches, orders, strict=True):
        ranks = [rank for rank, anchor in enumerate(order, start=1) if anchor in search.consumed]
        total += 1.0 / ranks[0] if ranks else 0.0
    return total / len(searches)


def _refusals(ess: float, coverage: float | None, rules: ReplayRules) -> tuple[str, ...]:
    refused = []
    if ess < rules.ess_at_least:
        refused.append(f"effective sample of {ess:.0f} consumptions, at least {rules.ess_at_least:.0f} are needed")
    if coverage is None or coverage < rules.coverage_at_least:
        held = "nothing was consumed" if coverage is None else f"{coverage:.0%} of what was consumed is in its pool"
        refused.append(f"{held}, at least {rules.coverage_at_least:.0%} is needed")
    return tuple(refused)


def _intervals(
    gain: Floats, weight: Floats, size: Floats, draws: int, seed: int
) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """Return 95 % intervals of IPS and SNIPS by drawing whole invocations."""
    if len(size) < 2 or weight.sum() == 0:
        return None, None
    chosen = np.random.default_rng(seed).multinomial(len(size), np.full(len(size), 1 / len(size)), size=draws)
    earned, weighed, counted = chosen @ gain, chosen @ weight, chosen @ size
    return _quantiles(earned / counted), _quantiles(earned[weighed > 0] / weighed[weighed > 0])


def _quantiles(values: Floats) -> tuple[float, float]:
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)
