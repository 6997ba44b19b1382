"""Kinds and authority of documents: by frontmatter, else by the nearest folder below the root, else `plan`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

KIND_FOLDERS: dict[str, str] = {
    "features": "feature",
    "specs": "feature",
    "decisions": "decision",
    "adr": "decision",
    "adrs": "decision",
    "architecture": "architecture",
    "plans": "plan",
    "phases": "plan",
    "guides": "plan",
    "lessons": "lesson",
    "reflections": "lesson",
    "methods": "lesson",
    "episodes": "lesson",
    "postmortems": "lesson",
    "stories": "lesson",
    "harness-feedback": "lesson",
    "discussions": "discussion",
    "research": "research",
    "study": "research",
    "competitor-research": "research",
}
"""Folder name -> kind (F102 Phase B)."""

KIND_WORDS: dict[str, str] = {
    **{word: word for word in ("feature", "decision", "architecture", "plan", "lesson", "discussion", "research")},
    "spec": "feature",
    "adr": "decision",
    "architecture-snapshot": "architecture",
    "design": "plan",
    "phase": "plan",
    "postmortem": "lesson",
    "reflection": "lesson",
    "harness-feedback": "lesson",
    **dict.fromkeys(
        [
            "comparison",
            "consult",
            "competitive-analysis",
            "open-source-teardown",
            "reading-notes",
            "revisit",
            "source-audit",
            "source-ledger",
            "study",
            "teardown",
        ],
        "research",
    ),
}
"""Word in `doc_kind` -> kind; other words are unknown."""

NAMED_FILES = (
    (re.compile(r"ADR[-_]?\d", re.IGNORECASE), "decision"),
    (re.compile(r"ARCHITECTURE\b", re.IGNORECASE), "architecture"),
)
"""Files whose name says their kind where no folder does."""

RESEARCH_PREFIXES = ("consult-", "research-", "study-")

CONSTITUTIONAL_FILES = frozenset({"lessons-learned.md", "public-lessons.md", "sop.md", "shared-rules.md"})
_VALIDATED = frozenset({"decisions", "adr", "adrs", "features", "specs", "architecture"})
_CANDIDATE = frozenset(
    {"plans", "phases", "research", "discussions", "reflections", "study", "catalogs", "competitor-research"}
)
ARCHIVE_FOLDERS = frozenset({"archive", "archived"})


def kind_of(path: str, doc_kind: str | None = None, category: str | None = None) -> str:
    """Return a document's kind. `path` is relative to the root: folders above it say nothing."""
    return (
        kind_word(doc_kind)
        or kind_word(category, only="research")
        or folder_kind(path)
        or next((kind for name, kind in NAMED_FILES if name.match(PurePosixPath(path).name)), "plan")
    )


def kind_word(word: str | None, only: str | None = None) -> str | None:
    """Return the kind that a frontmatter word names, or null; `only` accepts that kind alone."""
    if word is None:
        return None
    name = word.strip().lower().replace("_", "-").replace(" ", "-")
    kind = KIND_WORDS.get(name) or ("research" if name.startswith(RESEARCH_PREFIXES) else None)
    return kind if only is None or kind == only else None


def folder_kind(path: str) -> str | None:
    """Return the kind of the nearest folder that has one."""
    folders = PurePosixPath(path).parts[:-1]
    return next((KIND_FOLDERS[name.lower()] for name in reversed(folders) if name.lower() in KIND_FOLDERS), None)


def is_archived(path: str) -> bool:
    """Tell whether the document lies in an archive folder."""
    return any(part.lower() in ARCHIVE_FOLDERS for part in PurePosixPath(path).parts[:-1])


def authority_of(path: str, stated: str | None = None) -> str:
    """Return how far a document may be relied on: what it states, else by where it lies.

    Archived documents are never more than `observed`. Source: F163, as F102 quotes it.
    """
    if stated is not None and stated.lower() in ("constitutional", "validated", "candidate", "observed"):
        return stated.lower()
    if is_archived(path):
        return "observed"
    folders: Sequence[str] = [part.lower() for part in PurePosixPath(path).parts]
    if folders and folders[-1] in CONSTITUTIONAL_FILES:
        return "constitutional"
    if _VALIDATED.intersection(folders[:-1]):
        return "validated"
    return "candidate" if _CANDIDATE.intersection(folders[:-1]) else "observed"
