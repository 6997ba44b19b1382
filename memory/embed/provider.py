"""What an embedding provider is: texts to unit vectors, and an identity that says whose vectors they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from streams.errors import ConfigError, TransientError

Vectors = npt.NDArray[np.float32]
TextKind = Literal["query", "passage"]
EmbedMode = Literal["off", "shadow", "on"]

MAX_TEXT_CHARS = 8192
"""Longer texts are cut. Source: F102 embedding service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Whose vectors these are. Vectors of two identities never meet in one search."""

    provider: str
    model: str
    revision: str
    dim: int
    query_prefix: str = ""
    passage_prefix: str = ""


class EmbeddingUnavailable(TransientError):
    """The provider gave no usable vectors; search goes on without them."""


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def identity(self) -> Identity:
        """Whose vectors `embed` returns.

        Raises:
            EmbeddingUnavailable: when the provider has to be asked and does not answer.
        """
        ...

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return one unit vector a text, as float32 of shape (texts, dim).

        Raises:
            EmbeddingUnavailable: when the provider fails, is too slow, or answers with something that is no vector.
        """
        ...

    def close(self) -> None:
        """Free the model or connection."""
        ...


def checked(vectors: npt.ArrayLike, count: int, dim: int | None = None) -> Vectors:
    """Return an answer as unit vectors.

    Raises:
        EmbeddingUnavailable: for another shape, NaN or infinity, or a vector of length 0. A wrong dimension is never
            padded or cut: such vectors would be found, and mean nothing.
    """
    try:
        found = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbeddingUnavailable(f"expected {count} vectors of numbers, got something else: {error}") from None
    if found.ndim != 2 or found.shape[0] != count or (dim is not None and found.shape[1] != dim):
        raise EmbeddingUnavailable(f"expected {count} vectors of dimension {dim or 'n'}, got shape {found.shape}")
    norms = np.linalg.norm(found, axis=1, keepdims=True)
    if not np.isfinite(found).all() or bool((norms == 0).any()):
        raise EmbeddingUnavailable("expected finite vectors of a length above 0, got NaN, infinity or zeros")
    return np.asarray(found / norms, dtype=np.float32)


def truncated(vectors: Vectors, dim: int | None) -> Vectors:
    """Return Matryoshka vectors cut to `dim` and normalised again; unchanged for null or a larger one."""
    if dim is None or dim >= vectors.shape[1]:
        return vectors
    return checked(vectors[:, :dim], vectors.shape[0], dim)


def parse_mode(text: str) -> EmbedMode:
    """Return an embedding mode.

    Raises:
        ConfigError: for any other word.
    """
    match text:
        case "off" | "shadow" | "on":
            return text
    raise ConfigError(f"expected embed mode off, shadow or on, got {text!r}")
