"""The nearest documents to a query vector: exact for small collections, by bits and then exact for large ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory.embed.provider import Vectors

Ints = npt.NDArray[np.int64]

EXACT_ROWS = 4_000
"""Up to here one matrix product and one sort cost less than the two steps."""

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
    """Return the sign of every component, 64 to a word, of shape (words, vectors): a word of all lies together."""
    width = -(-vectors.shape[1] // 64) * 64
    signs = np.zeros((len(vectors), width), dtype=np.uint8)
    signs[:, : vectors.shape[1]] = vectors > 0
    return np.ascontiguousarray(np.packbits(signs, axis=1).view(np.uint64).T)


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
    places = order if rows is None else rows[order]
    owners, parts, scores = space.docs[places], space.passages[places], scores[order]
    whole = np.flatnonzero(parts == 0)
    first = whole[np.sort(np.unique(owners[whole], return_index=True)[1])]

    def near(at: Ints) -> list[Near]:
        found = zip(owners[at].tolist(), parts[at].tolist(), scores[at].tolist(), strict=True)
        return [Near(doc, passage, score) for doc, passage, score in found]

    return near(first[:limit]), near(np.flatnonzero(parts)[:limit])


def _candidates(space: Matrix, query: Vectors, rows: Ints | None, keep: int) -> Ints | None:
    """Return the rows to score exactly; null means all."""
    if space.bits is None or (rows is not None and len(rows) <= EXACT_ROWS):
        return rows
    bits = space.bits if rows is None else space.bits[:, rows]
    if bits.shape[1] <= keep:
        return rows
    distance = np.zeros(bits.shape[1], dtype=np.uint16)
    for word, asked in zip(bits, _bits(query[None, :])[:, 0], strict=True):
        distance += np.bitwise_count(word ^ asked)
    farthest = int(np.searchsorted(np.cumsum(np.bincount(distance)), keep))
    near = np.flatnonzero(distance <= farthest)
    return near if rows is None else rows[near]
