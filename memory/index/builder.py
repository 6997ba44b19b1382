"""What an index run changes, decided from values: collisions, differences, and the rows of a document."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from memory.anchors import anchor_key, path_anchor
from memory.index.segment import segment
from memory.model import DEMOTED_STATUSES, Document, Passage
from memory.sources.documents import hashed

KIND_PRIORITY: dict[str, int] = {
    "feature": 4,
    "decision": 3,
    "architecture": 3,
    "plan": 2,
    "discussion": 2,
    "research": 2,
    "pack-knowledge": 0,
}
"""Which of two documents keeps an anchor that both claim; kinds not named have 1 (F102 section 9)."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Documents with one owner for each anchor."""

    documents: tuple[Document, ...]
    collisions: tuple[str, ...]
    """One line each: who claimed an anchor and did not get it."""
    shared: frozenset[str] = frozenset()
    """Paths of the files that claim an anchor together with another one."""


def settle(documents: Sequence[Document]) -> Settled:
    """Give every anchor to one document; the others keep their content under the anchor of their path.

    Live documents come before archived ones, then the kind decides, then the path: the same files always give the
    same owner.
    """
    ranked = sorted(documents, key=lambda d: (d.is_archived, -KIND_PRIORITY.get(d.kind, 1), d.path, d.title))
    owners: dict[str, Document] = {}
    collisions: list[str] = []
    shared: set[str] = set()
    settled: list[Document] = []
    for document in ranked:
        key = anchor_key(document.anchor)
        if key in owners:
            other = _free_anchor(document, owners)
            collisions.append(
                f"{document.anchor} is claimed by {owners[key].path} and {document.path}: the latter stands as {other}"
            )
            shared |= {owners[key].path, document.path}
            document = hashed(replace(document, anchor=other))
            key = anchor_key(other)
        owners[key] = document
        settled.append(document)
    return Settled(tuple(settled), tuple(collisions), frozenset(shared))


def _free_anchor(document: Document, taken: Mapping[str, Document]) -> str:
    base = path_anchor(document.path)
    if document.kind == "lesson" and anchor_key(base) in taken:
        base = f"{base}#{document.anchor}"
    names = (base if number == 1 else f"{base}~{number}" for number in range(1, len(taken) + 2))
    return next(name for name in names if anchor_key(name) not in taken)


@dataclass(frozen=True, slots=True)
class Difference:
    """What has to change for the index to hold exactly these documents."""

    added: tuple[Document, ...]
    changed: tuple[Document, ...]
    removed: tuple[str, ...]
    unchanged: int


def difference(existing: Mapping[str, str], wanted: Sequence[Document]) -> Difference:
    """Compare anchors and hashes of the index with the wanted documents."""
    names = {document.anchor for document in wanted}
    added = tuple(document for document in wanted if document.anchor not in existing)
    changed = tuple(d for d in wanted if d.anchor in existing and existing[d.anchor] != d.text_hash)
    removed = tuple(sorted(anchor for anchor in existing if anchor not in names))
    return Difference(added, changed, removed, len(wanted) - len(added) - len(changed))


@dataclass(frozen=True, slots=True)
class DocText:
    """A document's segmented text, column by column of `docs_fts`."""

    title: str
    summary: str
    keywords: str

    @property
    def digest(self) -> str:
        """What the integrity check compares: contentless tables cannot be read back."""
        return digest(self.title, self.summary, self.keywords)


def doc_text(*, anchor: str, title: str, summary: str, keywords: Sequence[str], path: str) -> DocText:
    """Return what full text search sees of a document.

    The anchor stands with the title, and the words of the file's name with the keywords: a Chinese document often has
    an English file name, which is all that an English query can find of it.
    """
    named = title if anchor.startswith("doc:") or anchor in title else f"{anchor} {title}"
    words = PurePosixPath(path).stem.replace("-", " ").replace("_", " ") if not anchor.startswith("LL-") else ""
    return DocText(segment(named), segment(summary), segment(" / ".join([*keywords, words])))


@dataclass(frozen=True, slots=True)
class PassageText:
    """A passage's segmented text, column by column of `passages_fts`."""

    heading: str
    text: str

    @property
    def digest(self) -> str:
        """What the integrity check compares."""
        return digest(self.heading, self.text)


def passage_text(passage: Passage) -> PassageText:
    """Return what full text search sees of a passage."""
    return PassageText(segment(" / ".join(passage.heading_path)), segment(passage.text))


def digest(*columns: str) -> str:
    """Return a short hash of segmented columns."""
    return hashlib.blake2b("\x1f".join(columns).encode("utf-8", "replace"), digest_size=12).hexdigest()


def is_demoted(*, status: str, superseded_by: str | None, authority: str) -> bool:
    """Tell whether a document stands behind live ones. What is constitutional never does."""
    return authority != "constitutional" and (superseded_by is not None or status in DEMOTED_STATUSES)


def keyword_keys(document: Document) -> tuple[str, ...]:
    """Return the keywords of a document as filters compare them."""
    return tuple(dict.fromkeys(word.strip().casefold() for word in document.keywords if word.strip()))


def alias_keys(document: Document) -> dict[str, bool]:
    """Return the keys under which a document is found, and whether each is its own anchor."""
    own = anchor_key(document.anchor)
    return {own: True} | {key: False for alias in document.aliases if (key := anchor_key(alias)) != own}


def as_json(items: Sequence[str]) -> str:
    """Return a list of texts as compact JSON."""
    return json.dumps(list(items), ensure_ascii=False, separators=(",", ":"))
