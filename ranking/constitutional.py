"""Which documents consumption may never push down: decided by authority, source path and kind together.

Source: F200 "isConstitutional" (the kind word alone does not decide: a `decision` is constitutional only where it
is kept as an ADR), KD-2, AC-C5.
"""

from __future__ import annotations

import re
from functools import lru_cache

KINDS = frozenset({"adr", "lesson", "canon"})
"""Kinds that are constitutional wherever they lie."""

PATH_KINDS = frozenset({"decision", ""})
"""Kinds that are constitutional when their path says so."""

PATHS = re.compile(
    r"(^|/)(adrs?|decisions|canon|lessons)/|(^|/)(adr-?\d+[^/]*|lessons-learned|shared-rules|sop)\.mdx?$", re.IGNORECASE
)
"""Where ADRs, canon and lessons are kept."""


@lru_cache(maxsize=65536)
def is_constitutional(kind: str, authority: str, path: str = "") -> bool:
    """Tell whether a document is a stable source of truth, immune to falling through consumption."""
    if authority == "constitutional" or kind in KINDS:
        return True
    return kind in PATH_KINDS and PATHS.search(path) is not None
