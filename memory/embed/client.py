"""Vectors from an OpenAI-compatible server: Ollama, Text Embeddings Inference, vLLM."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
import msgspec
import numpy as np

from memory.embed.provider import (
    MAX_TEXT_CHARS,
    EmbeddingUnavailable,
    Identity,
    TextKind,
    Vectors,
    checked,
    truncated,
)

TIMEOUT_S = 3.0
"""Source: F102 (embedTimeoutMs)."""
BATCH = 32
RETRIES = 1


class _Item(msgspec.Struct):
    embedding: list[float]
    index: int = 0


class _Reply(msgspec.Struct):
    data: list[_Item]
    model: str = ""


class HttpEmbedder:
    """Asks `POST <url>/embeddings`. The dimension is what the first answer has, unless it is given."""

    def __init__(
        self,
        url: str,
        *,
        model: str = "qwen3-embedding-0.6b",
        dim: int | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        timeout_s: float = TIMEOUT_S,
        token: str = "",
    ) -> None:
        base = url.rstrip("/")
        self._url = f"{base if base.endswith('/v1') else base + '/v1'}/embeddings"
        self._model = model
        self._dim = dim
        self._prefixes = {"query": query_prefix, "passage": passage_prefix}
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(timeout=timeout_s, headers=headers)

    @property
    def identity(self) -> Identity:
        """Whose vectors these are; asks the server once when no dimension was given."""
        if self._dim is None:
            self._dim = int(self._ask(["dimension"]).shape[1])
        return Identity(
            provider="http",
            model=self._model,
            revision=self._url,
            dim=self._dim,
            query_prefix=self._prefixes["query"],
            passage_prefix=self._prefixes["passage"],
        )

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return one unit vector a text.

        Raises:
            EmbeddingUnavailable: see `Embedder`.
        """
        dim = self.identity.dim
        said = [self._prefixes[kind] + text[:MAX_TEXT_CHARS] for text in texts]
        found = [self._ask(said[at : at + BATCH]) for at in range(0, len(said), BATCH)]
        return checked(np.concatenate([truncated(part, dim) for part in found]), len(texts), dim)

    def _ask(self, texts: Sequence[str]) -> Vectors:
        for attempt in range(RETRIES + 1):
            try:
                reply = self._client.post(self._url, json={"model": self._model, "input": list(texts)})
                reply.raise_for_status()
                items = msgspec.json.decode(reply.content, type=_Reply).data
                ordered = sorted(items, key=lambda item: item.index)
                return checked([item.embedding for item in ordered], len(texts))
            except httpx.TimeoutException as error:
                raise EmbeddingUnavailable(f"{self._url} did not answer in time") from error
            except (httpx.HTTPError, msgspec.MsgspecError) as error:
                if attempt == RETRIES:
                    raise EmbeddingUnavailable(f"{self._url}: {error}") from error
        raise EmbeddingUnavailable(f"{self._url}: no attempt was made")

    def close(self) -> None:
        """Close the connection."""
        self._client.close()
