"""How likely each rank is to be examined, learned from documents that chance showed at different ranks.

Agents are not eyes: no human curve is assumed. For each query and document that interleaving or the swap slot put on
several ranks, relevance is the same on all of them, so the ranks alone explain the difference:

    expected consumptions at rank r = relevance of the pair x theta(r),   theta(1) = 1

fitted by alternating Poisson likelihood, made monotone, and kept above 0.1. Source: Agarwal et al. 2019
(intervention harvesting); Joachims, Swaminathan and Schnabel 2017.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FLOOR = 0.1
CONVERGED = 1e-8
ROUNDS = 500


@dataclass(frozen=True, slots=True)
class Shown:
    """One document of one query on one rank."""

    pair: str
    """Names the query and the document together."""
    rank: int
    """1-based."""
    consumed: float
    """Credit in [0, 1]."""


class PropensityFit(msgspec.Struct, frozen=True, kw_only=True):
    """The examination chances, and how well they are known."""

    theta: dict[int, float]
    """By 1-based rank, relative to rank 1, in [0.1, 1], never rising."""
    raw: dict[int, float]
    """Before they were made monotone and clipped."""
    shown: dict[int, int]
    """Exposures by rank that the fit rests on."""
    pairs: int
    """Documents that were shown on several ranks and consumed at least once."""
    consumptions: float
    rounds: int
    converged: bool
    monotone_change: float
    """Largest change that monotonicity made: large means noise, or a curve that is not monotone."""


def estimate(rows: Sequence[Shown]) -> PropensityFit:
    """Return the examination chances; without randomised exposures every rank counts as examined."""
    pair, rank, consumed = _informative(rows)
    ranks = sorted({row.rank for row in rows})
    if not len(pair):
        return PropensityFit(
            theta=dict.fromkeys(ranks, 1.0), raw={}, shown={}, pairs=0, consumptions=0.0, rounds=0, converged=False,
            monotone_change=0.0,
        )  # fmt: skip
    known, column = np.unique(rank, return_inverse=True)
    group = np.unique(pair, return_inverse=True)[1]
    theta, rounds, converged = _fit(group, column, consumed, len(known))
    shown = np.bincount(column)
    smooth = np.clip(isotonic(theta, shown.astype(np.float64)), FLOOR * theta[0], None)
    scaled = np.minimum(1.0, smooth / smooth[0])
    return PropensityFit(
        theta=_filled({int(r): float(t) for r, t in zip(known, scaled, strict=True)}, ranks),
        raw={int(r): float(t) for r, t in zip(known, theta / theta[0], strict=True)},
        shown={int(r): int(n) for r, n in zip(known, shown, strict=True)},
        pairs=int(group.max()) + 1,
        consumptions=float(consumed.sum()),
        rounds=rounds,
        converged=converged,
        monotone_change=float(np.max(np.abs(smooth / smooth[0] - theta / theta[0]))),
    )


def isotonic(values: Floats, weights: Floats) -> Floats:
    """Return the closest never-rising values (weighted least squares, pool adjacent violators)."""
    blocks: list[list[float]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            (v1, w1, n1), (v2, w2, n2) = blocks[-2:]
            blocks[-2:] = [[(v1 * w1 + v2 * w2) / (w1 + w2), w1 + w2, n1 + n2]]
    return np.repeat([block[0] for block in blocks], [int(block[2]) for block in blocks])


def _informative(rows: Sequence[Shown]) -> tuple[Ints, Ints, Floats]:
    """Keep the pairs that stood on several ranks and were consumed at all: the others say nothing about ranks."""
    ranks: dict[str, set[int]] = {}
    opened: dict[str, float] = {}
    for row in rows:
        ranks.setdefault(row.pair, set()).add(row.rank)
        opened[row.pair] = opened.get(row.pair, 0.0) + row.consumed
    names = {name: n for n, name in enumerate(name for name in ranks if len(ranks[name]) > 1 and opened[name] > 0)}
    kept = [row for row in rows if row.pair in names]
    return (
        np.array([names[row.pair] for row in kept], dtype=np.int64),
        np.array([row.rank for row in kept], dtype=np.int64),
        np.array([row.consumed for row in kept], dtype=np.float64),
    )


def _fit(group: Ints, column: Ints, consumed: Floats, ranks: int) -> tuple[Floats, int, bool]:
    theta = np.ones(ranks)
    by_group = np.bincount(group, consumed)
    by_rank = np.bincount(column, consumed, minlength=ranks)
    for round_ in range(1, ROUNDS + 1):
        relevance = by_group / np.bincount(group, theta[column])
        following = by_rank / np.bincount(column, relevance[group], minlength=ranks)
        following = np.maximum(following / max(following[0], 1e-12), 1e-6)
        if np.max(np.abs(following - theta)) < CONVERGED:
            return following, round_, True
        theta = following
    return theta, ROUNDS, False


def _filled(theta: dict[int, float], ranks: Sequence[int]) -> dict[int, float]:
    """Give a rank without data the value of the nearest known rank above it."""
    filled, last = {}, 1.0
    for rank in ranks:
        last = theta.get(rank, last)
        filled[rank] = last
    return filled
