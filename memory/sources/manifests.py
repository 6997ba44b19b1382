"""What a repository says of itself outside its documents: package manifests and change logs."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import Any, Literal

from memory.anchors import path_anchor
from memory.model import Document
from memory.sources.documents import hashed

Tier = Literal["authoritative", "derived", "soft_clue"]

MANIFESTS = frozenset(
    [
        "package.json",
        "Cargo.toml",
        "go.mod",
        "pyproject.toml",
        "pom.xml",
        "build.gradle",
        "build.gradle.kts",
        "Gemfile",
        "composer.json",
        "pubspec.yaml",
        "setup.cfg",
        "mix.exs",
        "Package.swift",
    ]
)
"""Files that name a project and what it is made of."""

_SOFT = re.compile(r"(?:CHANGELOG|HISTORY|RELEASES?|RELEASE[-_]NOTES)(?:\.|$)", re.IGNORECASE)
_HEAD_LINES, _HEAD_CHARS = 10, 300


def tier_of(path: str) -> Tier:
    """Return how near a file is to what its authors decided: a document, derived from code, or a mere clue."""
    name = PurePosixPath(path).name
    if name in MANIFESTS:
        return "derived"
    if _SOFT.match(name) or "/ISSUE_TEMPLATE/" in f"/{path}":
        return "soft_clue"
    return "authoritative"


def manifest(path: str, text: str) -> Document:
    """Return a manifest as a document: name, version, description, dependencies."""
    name = PurePosixPath(path).name
    keywords: tuple[str, ...] = ()
    title, summary = name, "\n".join(text.splitlines()[:_HEAD_LINES])[:_HEAD_CHARS]
    if name in ("package.json", "composer.json"):
        title, summary, keywords = _json_manifest(name, text, summary)
    return hashed(
        Document(
            anchor=path_anchor(path),
            title=title,
            kind="research",
            summary=summary,
            keywords=keywords,
            path=path,
            aliases=(path,),
            tier="derived",
        )
    )


def _json_manifest(name: str, text: str, head: str) -> tuple[str, str, tuple[str, ...]]:
    try:
        known: Any = json.loads(text)
    except (ValueError, RecursionError):
        return name, head, ()
    if not isinstance(known, dict):
        return name, head, ()
    version = known.get("version")
    title = f"{known.get('name') or name}{f' v{version}' if version else ''}"
    groups = (known.get(key) for key in ("dependencies", "devDependencies", "require"))
    dependencies = tuple(dict.fromkeys(item for group in groups if isinstance(group, dict) for item in group))
    summary = f"{known.get('description') or ''} {', '.join(dependencies)}".strip()
    return title, summary or head, dependencies
