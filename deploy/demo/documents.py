"""The demo's documentation folder: Saltmarsh, a field notebook that does not exist, in English and Chinese."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import yaml

_FOLDER = Path(__file__).parent / "saltmarsh"
_AGE = re.compile(r"days-ago-(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoDocument:
    """One document of the folder."""

    path: str
    """Below the documentation folder."""
    anchor: str
    title: str
    topics: tuple[str, ...]
    body: str
    text: str
    """The whole file, with ages still in days."""


@cache
def documents() -> tuple[DemoDocument, ...]:
    """Return every document, by path."""
    files = sorted(_FOLDER.rglob("*.md"))
    return tuple(_document(path.relative_to(_FOLDER).as_posix(), path.read_text("utf-8")) for path in files)


def write(folder: Path, as_of: datetime) -> int:
    """Write the documentation as of an instant into a folder and return the number of files."""
    for document in documents():
        path = folder / document.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_dated(document.text, as_of), "utf-8")
    return len(documents())


def _dated(text: str, as_of: datetime) -> str:
    return _AGE.sub(lambda age: (as_of - timedelta(days=int(age.group(1)))).date().isoformat(), text)


def _document(path: str, text: str) -> DemoDocument:
    _, head, body = text.split("---\n", 2)
    fields = yaml.safe_load(head)
    own = [fields.get("anchor"), *fields.get("feature_ids", ()), fields.get("decision_id")]
    anchor = next((name for name in own if name), f"doc:{path.removesuffix('.md')}")
    title = next(line for line in body.splitlines() if line.startswith("# ")).removeprefix("# ")
    return DemoDocument(
        path=path,
        anchor=anchor,
        title=title,
        topics=tuple(fields["topics"]),
        body=body,
        text=text,
    )


def links(text: str) -> list[str]:
    """Return the relative Markdown links of a document."""
    return re.findall(r"\]\(([^)\s:]+\.md)\)", text)
