"""The adapters, in one visible tuple: a new agent runtime is a file here and an entry below."""

from __future__ import annotations

from producers.adapters import (
    claude_code,
    codex,
    codex_exec,
    gemini,
    hooks,
    mcp,
    native,
    opencode,
    openhands,
    otlp,
    swe_agent,
    ubi,
)
from producers.translation import Adapter

ADAPTERS: tuple[Adapter, ...] = (
    native.ADAPTER,
    codex.ADAPTER,
    codex_exec.ADAPTER,
    hooks.CLAUDE_HOOKS,
    hooks.CODEX_HOOKS,
    claude_code.ADAPTER,
    gemini.ADAPTER,
    opencode.ADAPTER,
    openhands.ADAPTER,
    swe_agent.ADAPTER,
    otlp.ADAPTER,
    mcp.ADAPTER,
    ubi.ADAPTER,
)
"""Asked in this order which of them recognises a file."""


def adapter_named(name: str) -> Adapter:
    """Return the adapter of this name.

    Raises:
        ValueError: when there is none.
    """
    for adapter in ADAPTERS:
        if adapter.name == name:
            return adapter
    raise ValueError(f"expected an adapter of {[adapter.name for adapter in ADAPTERS]}, got {name!r}")


def adapter_for(name: str, head: bytes) -> Adapter | None:
    """Return the first adapter that recognises a file by its name and first bytes, or null."""
    return next((adapter for adapter in ADAPTERS if adapter.recognises(name, head)), None)
