"""What a prompt is, and which files, anchors and pages it names: their reads tell nothing about search."""

from __future__ import annotations

import re

from producers.redact import clean, cut, redact_text

MAX_PROMPT_CHARS = 2_000
MAX_NAMED = 50

_SCANNED_CHARS = 50_000
"""How much of a pasted prompt is searched for names."""

_NAMED = re.compile(
    r"(?P<url>https?://[^\s<>\"'`)\]]+)"
    r"|(?P<anchor>\b(?:F\d{2,4}|ADR-\d+|LL-\d+|(?:doc|thread|session|package|repo-commit):[\w./-]+|(?:thread|session)-[\w-]{6,})\b)"
    r"|(?P<path>@?(?:[A-Za-z]:[\\/]|~/|\.{1,2}/|/)?(?:[\w.\-]+[\\/])+[\w.\-]+|@?\b[\w\-]+\.(?:md|py|ts|tsx|js|jsx|go|rs|java|kt|rb|c|h|cc|cpp|cs|sh|sql|toml|yaml|yml|json|txt|html|css|ipynb)\b)"
)


def named_targets(text: str) -> tuple[str, ...]:
    """Return the paths, anchors and URLs that a prompt names, each once, in order of appearance."""
    names = (found.group().lstrip("@").rstrip(".,;:") for found in _NAMED.finditer(text[:_SCANNED_CHARS]))
    return tuple(dict.fromkeys(name for name in names if name))[:MAX_NAMED]


def shown_prompt(text: str) -> str:
    """Return the prompt as it may stand on the log: no secrets, at most 2,000 characters."""
    return redact_text(cut(clean(text), MAX_PROMPT_CHARS))
