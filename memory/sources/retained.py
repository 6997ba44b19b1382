"""What agents asked to be remembered, as documents."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime

from memory.model import Document
from memory.sources.documents import hashed
from memory.sources.markdown import blocks, cut, passages, summary_of

MAX_CHARS = 50_000
"""Source: F102 (retain-memory)."""


def memory_anchor(content: str) -> str:
    """Return the anchor of a memory, made of its words: case, spaces and end punctuation do not count.

    Raises:
        ValueError: for an empty text or one of more than 50,000 characters.
    """
    plain = " ".join(content.split()).casefold().rstrip(" .!?。！？")
    if not plain or len(content) > MAX_CHARS:
        raise ValueError(f"expected 1 to {MAX_CHARS} characters to remember, got {len(content)}")
    return f"memory-{hashlib.sha256(plain.encode('utf-8', 'replace')).hexdigest()[:12]}"


def retained_document(anchor: str, content: str, tags: Sequence[str], at: datetime) -> Document:
    """Return a memory as a document of kind `memory`."""
    found = blocks(content)
    return hashed(
        Document(
            anchor=anchor,
            title=cut(" ".join(content.split()), 80),
            kind="memory",
            summary=summary_of(found),
            keywords=tuple(tags),
            topics=tuple(tags),
            updated_at=at,
            passages=passages(found),
        )
    )
