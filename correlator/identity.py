"""Ids of what the correlator concludes: derived from content, so that every replay gives the same."""

from __future__ import annotations

import uuid
from functools import lru_cache

from streams.events import ToolCalled

NAMESPACE = uuid.UUID("6d8a4b4e-4f0e-5b43-9d5c-7c1f2f5a9a01")
"""Fixed for ever: another namespace would give every search another id."""


@lru_cache(maxsize=8_192)
def _uuid5(text: str) -> str:
    return str(uuid.uuid5(NAMESPACE, text))


def recall_id(invocation_id: str, tool_use_id: str) -> str:
    """Return the id of a search: uuid5 of its invocation and tool_use_id."""
    return _uuid5(f"{invocation_id}\n{tool_use_id}")


def recall_id_of(search: ToolCalled) -> str:
    """Return the id of a search."""
    return recall_id(search.invocation_id, search.tool_use_id)


def trajectory_id_of(invocation_id: str) -> str:
    """Return the id of an invocation's trajectory."""
    return _uuid5(invocation_id)
