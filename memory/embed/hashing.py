"""A deterministic embedder without a model: hashed words and bigrams. It is lexical: for tests of the plumbing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from memory.embed.provider import Identity, TextKind, Vectors, checked
from memory.index.segment import segment


class HashingEmbedder:
    """Feature hashing over segmented text; `aliases` let words of two languages share a feature."""

    def __init__(self, dim: int = 64, aliases: Mapping[str, str] | None = None, revision: str = "1") -> None:
        self._aliases = {word.casefold(): meaning for word, meaning in (aliases or {}).items()}
        self.identity = Identity(provider="hashing", model="words", revision=revision, dim=dim)

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return one unit vector a text; a text without words points away from all others."""
        vectors = np.zeros((len(texts), self.identity.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row, 0] = 1e-3
            for token in segment(text).casefold().split():
                digest = hashlib.blake2b(self._aliases.get(token, token).encode(), digest_size=8).digest()
                place = int.from_bytes(digest[:4], "big") % self.identity.dim
                vectors[row, place] += 1.0 if digest[4] & 1 else -1.0
        return checked(vectors, len(texts), self.identity.dim)

    def close(self) -> None:
        """Nothing to free."""
