"""Lessons files: one file, many documents, each `### LL-nnn: title` section one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memory.sources.markdown import Block

_LESSON = re.compile(r"(?P<id>LL-\d+)\s*[:：—-]?\s*(?P<title>.*)")
_RELATED = re.compile(r"^\W*关联\W*[:：]\s*(?P<items>.+)$|^\W*(?:Related|See also)\W*:\s*(?P<latin>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson of a lessons file."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    """Its heading and everything up to the next heading of the same level or above."""
    keywords: tuple[str, ...]


def lessons(found: Sequence[Block]) -> tuple[Lesson, ...]:
    """Return the lessons of a file, in order; empty when it holds none."""
    result: list[Lesson] = []
    for at, block in enumerate(found):
        if block.kind != "heading" or (match := _LESSON.match(block.text)) is None:
            continue
        end = next(
            (
                at + 1 + below
                for below, other in enumerate(found[at + 1 :])
                if other.kind == "heading" and other.level <= block.level
            ),
            len(found),
        )
        section = tuple(found[at:end])
        result.append(Lesson(match["id"], block.text, section, _keywords(section)))
    return tuple(result)


def lesson_anchor(title: str) -> str | None:
    """Return the anchor that a lesson's title begins with, or null."""
    found = _LESSON.match(title)
    return found["id"] if found is not None else None


def _keywords(section: Sequence[Block]) -> tuple[str, ...]:
    for block in section[1:]:
        if (match := _RELATED.search(block.text)) is not None:
            items = re.split(r"[|,，、；;]", match["items"] or match["latin"])
            return tuple(item.strip(" *`[]") for item in items if item.strip(" *`[]"))
    return ()
