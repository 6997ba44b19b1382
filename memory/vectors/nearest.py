"""The nearest documents to a query vector: exact for small collections, by bits and then exact for large ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory.embed.provider import Vectors

Ints = npt.NDArray[np.int64]

EXACT_ROWS = 20_000
"""Up to here one matrix product costs less than two milliseconds."""

RESCORED = 600
"""Rows that the bits let through to the exact product (measured: 400 keep 0.95 to 1.0 of the nearest 10)."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Unit vectors in memory, each with the document and passage it stands for."""

    vectors: Vectors
    docs: Ints
    passages: Ints
    """0 where the vector stands for the document itself."""
    bits: npt.NDArray[np.uint64] | None

    def __len__(self) -> int:
        return len(self.docs)


def matrix(vectors: Vectors, docs: Ints, passages: Ints) -> Matrix:
    """Return the vectors ready for search."""
    return Matrix(vectors, docs, passages, _bits(vectors) if len(docs) > EXACT_ROWS else None)


def _bits(vectors: Vectors) -> npt.NDArray[np.uint64]:
    """Return the sign of every component, 64 to a word."""
    width = -(-vectors.shape[1] // 64) * 64
    signs = np.zeros((len(vectors), width), dtype=np.uint8)
    signs[:, : vectors.shape[1]] = vectors > 0
    return np.packbits(signs, axis=1).view(np.uint64)


@dataclass(frozen=True, slots=True)
class Near:
    """A document near the query, or one of its passages."""

    doc: int
    passage: int
    score: float
    """Cosine."""


def nearest(space: Matrix, query: Vectors, *, limit: int, allowed: Ints | None = None) -> tuple[list[Near], list[Near]]:
    """Return (documents by their own vectors, passages), both nearest first, at most `limit` each.

    A document's own vectors are its title and its title with summary; the better one counts.

    `allowed` are the documents that may be found; null means all. What is not allowed takes no place.
    """
    if len(space) == 0 or limit < 1:
        return [], []
    rows = None if allowed is None else np.flatnonzero(np.isin(space.docs, allowed))
    if rows is not None and len(rows) == 0:
        return [], []
    rows = _candidates(space, query, rows, max(RESCORED, 8 * limit))
    scores = space.vectors @ query if rows is None else space.vectors[rows] @ query
    order = np.argsort(-scores, kind="stable")
    docs: dict[int, Near] = {}
    passages: list[Near] = []
    for place in order:
        row = int(place if rows is None else rows[place])
        near = Near(int(space.docs[row]), int(space.passages[row]), float(scores[place]))
        if near.passage:
            passages.append(near)
        elif len(docs) < limit:
            docs.setdefault(near.doc, near)
        if len(docs) >= limit and len(passages) >= limit:
            break
    return list(docs.values()), passages[:limit]


def _candidates(space: Matrix, query: Vectors, rows: Ints | None, keep: int) -> Ints | None:
    """Return the rows to score exactly; null means all."""
    if space.bits is None or (rows is not None and len(rows) <= EXACT_ROWS):
        return rows
    bits = space.bits if rows is None else space.bits[rows]
    distance = np.bitwise_count(bits ^ _bits(query[None, :])).sum(axis=1, dtype=np.int32)
    if len(distance) <= keep:
        return rows
    near = np.argpartition(distance, keep)[:keep]
    return near.astype(np.int64) if rows is None else rows[near]
