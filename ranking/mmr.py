"""Maximal marginal relevance: the next result is relevant and unlike those already chosen.

    argmax  lambda x relevance(i) - (1 - lambda) x max over chosen j of similarity(i, j)

Relevance is stretched over 0..1 inside the pool first: fused rank scores lie within a few thousandths of each other,
and one shared keyword would outweigh them all. Source: F200 "MMR" (OQ-3), AC-C3; Carbonell and Goldstein 1998.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Vector = Sequence[float] | NDArray[np.floating[Any]]

Likeness = Callable[[int], Floats]
"""Gives for one item, by its position, how alike it is to every item."""

DEFAULT_LAMBDA = 0.7
POOL_PER_RESULT = 3
"""Below this many candidates a result there is no room to diversify."""


def mmr_applies(pool_size: int, limit: int, mode: str) -> bool:
    """Tell whether a search is diversified: hybrid, with three candidates a result, pinned ones included."""
    return mode == "hybrid" and limit > 0 and pool_size >= POOL_PER_RESULT * limit


def likeness(keywords: Sequence[Sequence[str]], vectors: Sequence[Vector | None] = ()) -> Likeness:
    """Return how alike items are, in [0, 1]: cosine where all have vectors, else the share of keywords.

    An item without keywords is like none, not even like another without any.
    """
    if vectors and all(vector is not None for vector in vectors):
        rows = np.asarray(vectors, dtype=np.float32)
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        norms[norms == 0.0] = 1.0
        return lambda item: np.clip(rows @ (rows[item] / norms[item]) / norms, 0.0, 1.0).astype(np.float64)
    columns: dict[str, int] = {}
    column = [columns.setdefault(word, len(columns)) for words in keywords for word in words]
    row = np.repeat(np.arange(len(keywords)), [len(words) for words in keywords])
    marks = np.zeros((len(keywords), max(1, len(columns))))
    marks[row, np.array(column, dtype=np.int64)] = 1.0
    sizes = marks.sum(axis=1)

    def share(item: int) -> Floats:
        common: Floats = marks @ marks[item]
        shares: Floats = common / np.maximum(sizes[item] + sizes - common, 1.0)
        return shares

    return share


@dataclass(frozen=True, slots=True)
class Diversified:
    """A pool in diversified order."""

    order: list[int]
    """Positions in the pool, best first: a permutation."""
    penalties: Floats
    """By pool position, what similarity cost it, in the unit of the scores: <= 0."""


def diversify(
    scores: Sequence[float],
    like: Likeness,
    *,
    limit: int,
    lambda_: float = DEFAULT_LAMBDA,
    latest: Mapping[int, int] | None = None,
) -> Diversified:
    """Choose `limit` items greedily; the rest follow by what is left of their score.

    `scores` are in any unit, higher is better; `like` is asked for the chosen only; `lambda_` 1 is pure relevance, 0
    pure diversity; `latest` gives the last 0-based place that an item may take, for those that must not sink. Score
    plus penalty falls along the order, except below an item that `latest` brought forward.

    Raises:
        ValueError: for a lambda outside [0, 1].
    """
    if not 0.0 <= lambda_ <= 1.0:
        raise ValueError(f"lambda lies in [0, 1], got {lambda_}")
    raw = np.asarray(scores, dtype=np.float64)
    low, spread = (float(raw.min()), float(np.ptp(raw))) if len(raw) else (0.0, 0.0)
    deadlines = {place: item for item, place in (latest or {}).items()}
    own = lambda_ * (raw - low) / spread if spread > 0 else np.full_like(raw, lambda_)
    worst, cost = np.zeros_like(raw), np.zeros_like(raw)
    value, chosen = own.copy(), []
    for place in range(min(limit, len(raw))):
        due = deadlines.get(place)
        pick = due if due is not None and own[due] >= 0.0 else int(value.argmax())
        chosen.append(pick)
        own[pick] = -np.inf
        cost[pick] = worst[pick]
        np.maximum(worst, like(pick), out=worst)
        value = own - (1.0 - lambda_) * worst
    rest = np.flatnonzero(own >= 0.0)
    cost[rest] = worst[rest]
    chosen += rest[np.argsort(-value[rest], kind="stable")].tolist()
    unit = spread if spread > 0 else 1.0
    return Diversified(chosen, -(1.0 - lambda_) / max(lambda_, 1e-9) * cost * unit)
