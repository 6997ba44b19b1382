"""The adapters, in one visible tuple: a new agent runtime is a file here and an entry below."""

from __future__ import annotations

from producers.adapters import claude_code, native
from producers.translation import Adapter

ADAPTERS: tuple[Adapter, ...] = (
    native.ADAPTER,
    claude_code.ADAPTER,
)
"""Asked in this order which of them recognises a file."""


def adapter_for(name: str, head: bytes) -> Adapter | None:
    """Return the first adapter that recognises a file by its name and first bytes, or null."""
    return next((adapter for adapter in ADAPTERS if adapter.recognises(name, head)), None)
