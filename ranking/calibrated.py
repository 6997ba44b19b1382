"""The rank-aware prior: consumptions against those that the ranks, tools and runtimes of its exposures let expect.

    w = 2^(-age / half-life of the kind)      expected x = sum of w mu(kind, rank, tool, runtime)
    observed C = sum of w credit              ratio | data ~ Gamma(s + C, s + x)

The rates mu are those of the other anchors of the same cell, shrunk level by level (all, rank, tool, runtime, kind):
an anchor never explains itself away, and an empty cell falls back to its parent. Without exposures the ratio is
exactly 1. Only what the 90 % interval excludes counts: z = ln low above 1, ln high below 1, else 0. Source: COEC with
Gamma-Poisson shrinkage; ADR 0602 compares it with the specification's formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv, gammaln

from ranking.exposures import Exposures, Floats, Ints
from ranking.recency import half_life_days

WINDOW_DAYS = 180
"""Two half-lives of a feature, when a quarter is left; here also ends the memory of kinds that never fade."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedConstants:
    """Numbers of the estimator, as data."""

    prior_rate: float = 0.2
    """Rate before anything is known: the specification's 2 reads in 10 exposures."""
    prior_exposures: float = 10.0
    cell_exposures: float = 20.0
    """Exposures at which a cell's own rate weighs as much as its parent's."""
    quantiles: tuple[float, float] = (0.05, 0.95)
    strengths: tuple[float, ...] = tuple(float(s) for s in np.geomspace(10.0, 1000.0, 13))
    """Candidates for the shrinkage pseudo-count of a kind, by marginal likelihood; the least is its floor."""
    anchors_to_fit: int = 10
    """A kind with fewer anchors takes the pseudo-count of all kinds together."""


CALIBRATED = CalibratedConstants()


@dataclass(frozen=True, slots=True)
class Calibrated:
    """The estimate of every anchor, in the order of `Exposures.anchors`."""

    ratio: Floats
    low: Floats
    high: Floats
    z: Floats
    expected: Floats
    observed: Floats
    strength: Floats


def calibrate(exposures: Exposures, kinds: Sequence[str], constants: CalibratedConstants = CALIBRATED) -> Calibrated:
    """Return the estimate of every anchor; `kinds` are by anchor."""
    kind_of, names = _positions(kinds)
    weights = _weights(exposures, kind_of, names)
    rates = expected_rates(exposures, kind_of, weights, constants)
    expected = exposures.per_anchor(weights * rates)
    observed = exposures.per_anchor(weights * exposures.credit)
    strength = _strengths(observed, expected, kind_of, len(names), constants)
    shape, rate = strength + observed, strength + expected
    low, high = (gammaincinv(shape, quantile) / rate for quantile in constants.quantiles)
    z = np.where(low > 1.0, np.log(low), np.where(high < 1.0, np.log(high), 0.0))
    return Calibrated(shape / rate, low, high, np.where(expected > 0, z, 0.0), expected, observed, strength)


def expected_rates(
    exposures: Exposures, kind_of: Ints, weights: Floats, constants: CalibratedConstants = CALIBRATED
) -> Floats:
    """Return for each exposure the consumption rate of other anchors shown in the same way, in [0, 1]."""
    credit = weights * exposures.credit
    rate = np.full(len(weights), constants.prior_rate)
    pseudo = constants.prior_exposures
    cell = np.zeros(len(weights), dtype=np.int64)
    for step in (None, exposures.rank, exposures.tool, exposures.runtime, kind_of[exposures.anchor]):
        if step is not None:
            cell = _dense(cell * (int(step.max(initial=0)) + 1) + step)
        pair = _dense(exposures.anchor * (int(cell.max(initial=0)) + 1) + cell)
        opened = np.bincount(cell, credit)[cell] - np.bincount(pair, credit)[pair]
        shown = np.bincount(cell, weights)[cell] - np.bincount(pair, weights)[pair]
        rate = (np.maximum(opened, 0.0) + pseudo * rate) / (np.maximum(shown, 0.0) + pseudo)
        pseudo = constants.cell_exposures
    return rate


def _weights(exposures: Exposures, kind_of: Ints, names: Sequence[str]) -> Floats:
    half_lives = np.array([half_life_days(name) or np.inf for name in names])
    return np.asarray(np.exp2(-exposures.age_days / half_lives[kind_of[exposures.anchor]]), dtype=np.float64)


def _strengths(observed: Floats, expected: Floats, kind_of: Ints, kinds: int, constants: CalibratedConstants) -> Floats:
    """Return each anchor's pseudo-count: the likeliest of its kind's negative binomial."""
    grid = np.array(constants.strengths)
    fits = np.empty((len(grid), kinds))
    for row, s in enumerate(grid):
        log_likelihood = (
            gammaln(s + observed) - gammaln(s) + s * np.log(s / (s + expected)) - observed * np.log(s + expected)
        )
        fits[row] = np.bincount(kind_of, log_likelihood, minlength=kinds)
    best = grid[np.argmax(fits, axis=0)]
    few = np.bincount(kind_of, expected > 0, minlength=kinds) < constants.anchors_to_fit
    best[few] = grid[int(np.argmax(fits.sum(axis=1)))]
    return np.asarray(best[kind_of], dtype=np.float64)


def _positions(names: Sequence[str]) -> tuple[Ints, list[str]]:
    known = {name: position for position, name in enumerate(dict.fromkeys(names))}
    return np.array([known[name] for name in names], dtype=np.int64), list(known)


def _dense(codes: Ints) -> Ints:
    """Return the codes renumbered from 0 without gaps."""
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)
