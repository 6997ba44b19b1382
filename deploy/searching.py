"""Opens the search store as the settings say."""

from __future__ import annotations

from deploy.settings import Settings
from memory.embed.store import embedder
from memory.store import SearchStore


def open_store(settings: Settings) -> SearchStore:
    """Return the search store of the data folder with its embedding provider; close it after use.

    Raises:
        ConfigError: when the provider cannot be loaded.
    """
    return SearchStore.open(settings.memory_dir, embedder=embedder(settings.embeddings))
