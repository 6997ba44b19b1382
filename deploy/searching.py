"""Opens the search store as the settings say."""

from __future__ import annotations

from deploy.settings import Settings
from memory.embed.store import embedder
from memory.model import Mode
from memory.store import SearchStore


def default_mode(settings: Settings) -> Mode:
    """Return how a search is made that does not say how: by words and meaning where there are vectors."""
    return "hybrid" if settings.embeddings != "off" else "lexical"


def open_store(settings: Settings) -> SearchStore:
    """Return the search store of the data folder with its embedding provider; close it after use.

    Raises:
        ConfigError: when the provider cannot be loaded.
    """
    return SearchStore.open(settings.memory_dir, embedder=embedder(settings.embeddings))
