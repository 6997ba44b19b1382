"""One Markdown file's text to the documents in it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

from memory.anchors import anchor_key, anchor_of_file, canonical, path_anchor
from memory.graph.edges import links_in
from memory.model import STATUSES, Document
from memory.sources import frontmatter
from memory.sources.frontmatter import Frontmatter
from memory.sources.kinds import authority_of, is_archived, kind_of
from memory.sources.lessons import Lesson, lesson_anchor, lessons
from memory.sources.markdown import Block, blocks, passages, summary_of

MAX_HEADING_KEYWORD = 80
"""Longer headings are sentences, no keywords."""

_FEATURE_FOLDERS = frozenset({"features", "specs"})


def documents(path: str, text: str, *, changed_at: datetime | None = None) -> list[Document]:
    """Return the documents of one file: the file itself, and each lesson of a lessons file.

    Args:
        path: Relative to the root, POSIX; decides kind and authority where the frontmatter is silent.
        changed_at: When the file last changed by git, or its mtime; a date in the frontmatter wins.
    """
    front = frontmatter.split(text)
    found = blocks(front.body, front.body_line)
    own = _file_document(path, front, found, changed_at)
    inner = [lesson for lesson in lessons(found) if anchor_key(lesson.anchor) != anchor_key(own.anchor)]
    split = [_lesson_document(lesson, own) for lesson in inner]
    if split:
        inside = {id(block) for lesson in inner for block in lesson.blocks}
        rest = [block for block in found if id(block) not in inside]
        own = replace(own, passages=passages(rest), keywords=_distinct([*own.topics, *_headings(rest)]))
    return [hashed(document) for document in (own, *split)]


def hashed(document: Document) -> Document:
    """Return the document with the hash of everything that the index stores of it."""
    blank = replace(document, text_hash="")
    return replace(document, text_hash=hashlib.sha256(repr(blank).encode("utf-8", "replace")).hexdigest())


def _file_document(path: str, front: Frontmatter, found: Sequence[Block], changed_at: datetime | None) -> Document:
    features = tuple(canonical(item) for item in front.list("feature_ids"))
    title = _title(found) or front.text("title") or PurePosixPath(path).stem
    anchor, from_file = _anchor(path, front, features, title)
    topics = _distinct([*front.list("topics"), *front.list("tags")])
    others = tuple(item for item in features if item != anchor)
    related = (*front.list("related"), *front.list("related_to"), *front.list("related_features"))
    superseded_by = front.list("superseded_by")
    status = (front.text("status") or "active").lower()
    body = front.body
    return Document(
        anchor=anchor,
        title=title,
        kind=kind_of(path, front.text("doc_kind") or front.text("kind"), front.text("category")),
        status=status if status in STATUSES else "active",
        summary=front.text("summary") or front.text("description") or summary_of(found),
        keywords=_distinct([*topics, *others, *_headings(found)]),
        topics=topics,
        path=path,
        authority=authority_of(path, front.text("authority")),
        updated_at=_date(front) or changed_at,
        supersedes=tuple(canonical(item) for item in front.list("supersedes")),
        superseded_by=canonical(superseded_by[0]) if superseded_by else None,
        aliases=_distinct([*front.list("aliases"), path_anchor(path), path, *([from_file] if from_file else [])]),
        related=_distinct([canonical(item) for item in (*related, *others)]),
        links=links_in(anchor, body, path),
        passages=passages(found),
        is_archived=is_archived(path),
        problems=(front.problem,) if front.problem else (),
        source_ids=front.list("source_ids"),
        materialized_from=front.text("materialized_from"),
    )


def _anchor(path: str, front: Frontmatter, features: Sequence[str], title: str) -> tuple[str, str | None]:
    """Return the anchor, and the id that the file's name gives when it is another one.

    A file whose title is a lesson's is that lesson.
    """
    named = anchor_of_file(path) or lesson_anchor(title)
    owns_feature = PurePosixPath(path).parent.name.lower() in _FEATURE_FOLDERS and bool(features)
    stated = (
        front.text("anchor")
        or (features[0] if owns_feature else None)
        or _decision(front.text("decision_id"))
        or front.text("plan_id")
    )
    anchor = canonical(stated) if stated else named or path_anchor(path)
    return anchor, None if stated and owns_feature else named


def _decision(stated: str | None) -> str | None:
    """A decision's id; one that is a bare number is that decision record."""
    return f"ADR-{stated}" if stated is not None and stated.isdecimal() else stated


def _lesson_document(lesson: Lesson, file: Document) -> Document:
    body = lesson.blocks[1:]
    text = "\n\n".join(block.text for block in body)
    return Document(
        anchor=canonical(lesson.anchor),
        title=lesson.title,
        kind="lesson",
        summary=summary_of(body) or " ".join(text.split())[:300],
        keywords=lesson.keywords,
        path=file.path,
        authority=file.authority,
        updated_at=file.updated_at,
        related=(),
        links=links_in(canonical(lesson.anchor), text, file.path),
        passages=passages(lesson.blocks),
        is_archived=file.is_archived,
    )


def _title(found: Sequence[Block]) -> str | None:
    headings = [block for block in found if block.kind == "heading" and block.text]
    first = next((block for block in headings if block.level == 1), None)
    return first.text if first is not None else headings[0].text if headings and headings[0] is found[0] else None


def _headings(found: Sequence[Block]) -> list[str]:
    return [
        block.text
        for block in found
        if block.kind == "heading" and block.level >= 2 and 0 < len(block.text) <= MAX_HEADING_KEYWORD
    ]


def _date(front: Frontmatter) -> datetime | None:
    """Return the day the frontmatter gives: updated before created."""
    for key in ("updated", "updated_at", "last_updated", "completed", "date", "created", "created_at"):
        stated = front.text(key)
        if stated is not None and (when := parse_instant(stated)) is not None:
            return when
    return None


def parse_instant(text: str) -> datetime | None:
    """Return an ISO date or instant as aware UTC; text without an offset is UTC; null when it is none."""
    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    try:
        return when.astimezone(UTC) if when.tzinfo is not None else when.replace(tzinfo=UTC)
    except OverflowError:
        return None


def _distinct(items: Sequence[str]) -> tuple[str, ...]:
    """Return the items in order, each once without regard to case."""
    seen: dict[str, str] = {}
    for item in items:
        if item.strip():
            seen.setdefault(item.strip().casefold(), item.strip())
    return tuple(seen.values())
