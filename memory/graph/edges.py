"""Edges between documents: found in text, closed over successors, read from both ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import unquote

from memory.anchors import anchor_key, canonical
from memory.model import Document, Edge

INVERSE: dict[str, str] = {
    "supersedes": "superseded_by",
    "evolved_from": "evolved_into",
    "blocked_by": "blocks",
    "invalidates": "invalidated_by",
    "promoted_from": "promoted_to",
    "alias_of": "has_alias",
    "related_to": "related_to",
    "wikilink": "linked_from",
    "doc_link": "linked_from",
    "feature_ref": "referenced_by",
}
"""How a relation reads from its target."""

DEPENDENT = frozenset({"related_to", "evolved_from", "blocked_by", "supersedes"})
"""Relations whose source has to be looked at again when the target changes."""

_FENCED = re.compile(r"^ {0,3}(?P<mark>`{3,}|~{3,}).*?(?:^ {0,3}(?P=mark)[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_INLINE_CODE = re.compile(r"(?P<ticks>`+)[^`\n]+?(?P=ticks)")
_WIKILINK = re.compile(r"\[\[(?P<target>[^\]\[|#\n]+)(?:#[^\]|\n]*)?(?:\|[^\]\n]*)?\]\]")
_LINK = re.compile(
    r"(?<!\!)\[[^\]\n]*\]\(\s*(?:<(?P<angle>[^>\n]+)>|(?P<plain>[^\s()]*(?:\([^\s()]*\)[^\s()]*)*))"
    r"(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^)\n]*\)))?\s*\)"
)
_REFERENCE = re.compile(r"^ {0,3}\[[^\]\n]+\]:\s*<?(?P<target>[^\s>]+)>?", re.MULTILINE)
_FEATURE = re.compile(r"(?<![A-Za-z0-9_/-])F(?P<number>\d{2,3})(?![A-Za-z0-9_-])")


def links_in(anchor: str, body: str, path: str = "") -> tuple[Edge, ...]:
    """Return the edges that a document's text states: wikilinks, links to files, references to features.

    Code is no statement. The target of a `doc_link` is a path relative to the root, to be resolved by `resolved`;
    a link that leaves the root, goes to the web, or names its own document gives no edge.
    """
    text = _FENCED.sub("", body)
    linked = _INLINE_CODE.sub("", text)
    stated = [("wikilink", found["target"].strip()) for found in _WIKILINK.finditer(linked)]
    stated += [("doc_link", target) for target in _linked_paths(linked, path)]
    bare = _REFERENCE.sub("", _LINK.sub("", _WIKILINK.sub("", text)))
    stated += [("feature_ref", canonical("F" + found["number"])) for found in _FEATURE.finditer(bare)]
    return tuple(_distinct(anchor, stated))


def _linked_paths(text: str, path: str) -> Iterator[str]:
    raw = [found["angle"] or found["plain"] or "" for found in _LINK.finditer(text)]
    raw += [found["target"] for found in _REFERENCE.finditer(text)]
    for target in raw:
        if (relative := _resolve(target, path)) is not None:
            yield relative


def _resolve(target: str, source: str) -> str | None:
    """Return a link's target relative to the root; null for the web, for a place inside the page, and outside."""
    target = unquote(re.split(r"[#?]", target, maxsplit=1)[0]).replace("\\", "/")
    if not target or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", target) or target.startswith("//"):
        return None
    base = [] if target.startswith("/") else list(PurePosixPath(source).parent.parts)
    if target.startswith("/docs/"):
        target = target.removeprefix("/docs/")
    for part in target.strip("/").split("/"):
        if part == "..":
            if not base:
                return None
            base.pop()
        elif part not in ("", "."):
            base.append(part)
    return "/".join(base) or None


def _distinct(anchor: str, stated: Iterable[tuple[str, str]]) -> Iterator[Edge]:
    own = anchor_key(anchor)
    seen: set[tuple[str, str]] = set()
    for relation, target in stated:
        key = (relation, anchor_key(target))
        if key not in seen and key[1] != own:
            seen.add(key)
            yield Edge(source=anchor, relation=relation, target=target, provenance="content")


def resolved(edges: Iterable[Edge], by_path: Mapping[str, str], by_key: Mapping[str, str]) -> tuple[Edge, ...]:
    """Return edges with targets as anchors: links by path, the rest by any spelling; unknown files give no edge."""
    found: dict[Edge, None] = {}
    for edge in edges:
        if edge.relation == "doc_link":
            target = by_path.get(edge.target)
        else:
            target = by_key.get(anchor_key(edge.target), canonical(edge.target))
        if target is not None and anchor_key(target) != anchor_key(edge.source):
            found[Edge(source=edge.source, relation=edge.relation, target=target, provenance=edge.provenance)] = None
    return tuple(found)


def declared(document: Document) -> tuple[Edge, ...]:
    """Return the edges of a document's frontmatter."""
    edges = [Edge(source=document.anchor, relation="supersedes", target=old) for old in document.supersedes]
    if document.superseded_by is not None:
        edges.append(Edge(source=document.superseded_by, relation="supersedes", target=document.anchor))
    edges += [Edge(source=document.anchor, relation="related_to", target=other) for other in document.related]
    return tuple(edges)


@dataclass(frozen=True, slots=True)
class Succession:
    """Who replaced whom, closed both ways."""

    successor: Mapping[str, str]
    """Anchor -> the document that replaced it directly."""
    cycles: tuple[tuple[str, ...], ...]
    """Circles of documents that replace each other, each from its smallest anchor."""

    def head(self, anchor: str) -> str | None:
        """Return the newest document of an anchor's chain; null when nothing replaced it, or in a circle."""
        seen = {anchor}
        at = anchor
        while (following := self.successor.get(at)) is not None:
            if following in seen:
                return None
            seen.add(following)
            at = following
        return at if at != anchor else None


def succession(edges: Iterable[Edge]) -> Succession:
    """Return who replaced whom by the `supersedes` edges. Of several successors the greatest anchor counts."""
    successor: dict[str, str] = {}
    for edge in sorted(edges):
        if edge.relation == "supersedes" and edge.source != edge.target:
            successor[edge.target] = edge.source
    return Succession(successor, tuple(_cycles(successor)))


def _cycles(successor: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    done: set[str] = set()
    for start in sorted(successor):
        trail: list[str] = []
        at: str | None = start
        while at is not None and at not in done and at not in trail:
            trail.append(at)
            at = successor.get(at)
        if at in trail:
            circle = trail[trail.index(at) :]
            least = circle.index(min(circle))
            yield (*circle[least:], *circle[:least])
        done.update(trail)


@dataclass(frozen=True, slots=True)
class Related:
    """A neighbour of an anchor, and how the edge reads from the anchor's side."""

    anchor: str
    relation: str
    direction: Literal["in", "out"]
    reads_as: str
    provenance: str = ""


def related(anchor: str, edges: Iterable[Edge]) -> tuple[Related, ...]:
    """Return an anchor's neighbours: `out` reads as the relation says, `in` as its inverse."""
    found: list[Related] = []
    for edge in edges:
        if edge.source == anchor:
            found.append(Related(edge.target, edge.relation, "out", edge.relation, edge.provenance))
        elif edge.target == anchor:
            reads_as = INVERSE.get(edge.relation, f"{edge.relation}_of")
            found.append(Related(edge.source, edge.relation, "in", reads_as, edge.provenance))
    return tuple(found)


def dependents(changed: Iterable[str], edges: Sequence[Edge]) -> dict[str, tuple[str, ...]]:
    """Return the documents to look at again, each with the changed anchors that it depends on."""
    causes = frozenset(changed)
    found: dict[str, list[str]] = {}
    for edge in sorted(edges):
        if edge.relation in DEPENDENT and edge.target in causes and edge.source not in causes:
            found.setdefault(edge.source, []).append(edge.target)
    return {anchor: tuple(dict.fromkeys(targets)) for anchor, targets in found.items()}
