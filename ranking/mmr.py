"""Maximal marginal relevance: the next result is relevant and unlike those already chosen.

    argmax  lambda x relevance(i) - (1 - lambda) x max over chosen j of similarity(i, j)

Relevance is stretched over 0..1 inside the pool first: fused rank scores lie within a few thousandths of each other,
and one shared keyword would outweigh them all. Source: F200 "MMR" (OQ-3), AC-C3; Carbonell and Goldstein 1998.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DEFAULT_LAMBDA = 0.7
POOL_PER_RESULT = 3
"""Below this many candidates a result there is no room to diversify."""


def mmr_applies(pool_size: int, limit: int, mode: str) -> bool:
    """Tell whether a search is diversified: hybrid, with three candidates a result, pinned ones included."""
    return mode == "hybrid" and limit > 0 and pool_size >= POOL_PER_RESULT * limit


class Similarities:
    """Similarities of a pool, one row at a time: cosine where every document has a vector, else shared keywords."""

    def __init__(self, keywords: Sequence[Sequence[str]], vectors: Sequence[Sequence[float] | Floats | None]) -> None:
        self._cosine = bool(vectors) and all(vector is not None for vector in vectors)
        if self._cosine:
            matrix = np.asarray(vectors, dtype=np.float64)
            norms = np.linalg.norm(matrix, axis=1, keepdims=True)
            self._rows = matrix / np.where(norms > 0, norms, 1.0)
            return
        columns = {word: column for column, word in enumerate({word for words in keywords for word in words})}
        self._rows = np.zeros((len(keywords), max(1, len(columns))))
        for row, words in enumerate(keywords):
            self._rows[row, [columns[word] for word in words]] = 1.0
        self._sizes = self._rows.sum(axis=1)

    def to(self, item: int) -> Floats:
        """Return the similarity of every item to this one, each in [0, 1]."""
        common: Floats = self._rows @ self._rows[item]
        if self._cosine:
            return np.maximum(common, 0.0)
        union: Floats = self._sizes + self._sizes[item] - common
        return np.divide(common, np.maximum(union, 1.0))


@dataclass(frozen=True, slots=True)
class Diversified:
    """A pool in diversified order."""

    order: list[int]
    """Positions in the pool, best first: a permutation."""
    penalties: Floats
    """By pool position, what similarity cost it, in the unit of the scores: <= 0."""


def diversify(
    scores: Sequence[float],
    similarities: Similarities,
    *,
    limit: int,
    lambda_: float = DEFAULT_LAMBDA,
    latest: Mapping[int, int] | None = None,
) -> Diversified:
    """Choose `limit` items greedily; the rest follow by what is left of their score.

    `scores` are in any unit, higher is better; `lambda_` 1 is pure relevance, 0 pure diversity; `latest` gives the last
    0-based place that an item may take, for those that must not sink. Score plus penalty falls along the order, except
    below an item that `latest` brought forward.

    Raises:
        ValueError: for a lambda outside [0, 1].
    """
    if not 0.0 <= lambda_ <= 1.0:
        raise ValueError(f"lambda lies in [0, 1], got {lambda_}")
    raw = np.asarray(scores, dtype=np.float64)
    low, spread = (float(raw.min()), float(np.ptp(raw))) if len(raw) else (0.0, 0.0)
    relevance = (raw - low) / spread if spread > 0 else np.ones_like(raw)
    deadlines = {place: item for item, place in (latest or {}).items()}
    worst = np.zeros_like(raw)
    value = lambda_ * relevance
    frozen_at = np.zeros_like(raw)
    open_ = np.ones(len(raw), dtype=bool)
    chosen: list[int] = []
    for place in range(min(limit, len(raw))):
        due = deadlines.get(place)
        pick = due if due is not None and open_[due] else int(np.argmax(np.where(open_, value, -np.inf)))
        chosen.append(pick)
        open_[pick] = False
        frozen_at[pick] = worst[pick]
        np.maximum(worst, similarities.to(pick), out=worst)
        value = lambda_ * relevance - (1.0 - lambda_) * worst
    rest = np.flatnonzero(open_)
    frozen_at[rest] = worst[rest]
    chosen.extend(int(item) for item in rest[np.argsort(-value[rest], kind="stable")])
    unit = spread if spread > 0 else 1.0
    return Diversified(chosen, -(1.0 - lambda_) / max(lambda_, 1e-9) * frozen_at * unit)
