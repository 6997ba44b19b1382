"""Markdown to blocks with their heading path and lines, and blocks to passages of 200 to 400 tokens."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memory.index.segment import CJK
from memory.model import Passage

MIN_TOKENS = 200
MAX_TOKENS = 400
"""Bounds of a passage; a token here is a Latin word or a CJK letter."""

BlockKind = Literal["heading", "paragraph", "fence", "quote", "table", "comment"]

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_ATX = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<text>.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(?:(?P<one>=+)|(?P<two>-{2,}))[ \t]*$")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_TOKEN = re.compile(f"[{CJK}]|[^\\W{CJK}]+")
_EMPHASIS = re.compile(r"(\*\*|__|~~|`)(?P<text>.+?)\1")
_LINK = re.compile(r"!?\[(?P<text>[^\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a Markdown body."""

    kind: BlockKind
    text: str
    heading_path: tuple[str, ...]
    """Headings above it, outermost first; a heading's own path ends with itself."""
    start_line: int
    end_line: int
    level: int = 0
    """1 to 6 for headings."""


def tokens(text: str) -> int:
    """Return how many tokens a text has: Latin words and CJK letters."""
    return len(_TOKEN.findall(text))


def plain(text: str) -> str:
    """Return inline Markdown as the words a reader sees: no emphasis marks, links as their text."""
    return _EMPHASIS.sub(lambda found: found["text"], _LINK.sub(lambda found: found["text"], text)).strip()


def blocks(body: str, first_line: int = 1) -> list[Block]:
    """Return the blocks of a body in order, headings included; rules and blank lines part them and are gone."""
    found: list[Block] = []
    path: list[tuple[int, str]] = []
    for kind, lines, line, level in _raw_blocks(body.split("\n"), first_line):
        text = "\n".join(lines)
        if kind == "heading":
            text = plain(text)
            path = [entry for entry in path if entry[0] < level] + [(level, text)]
        names = tuple(name for _, name in path if name)
        found.append(Block(kind, text, names, line, line + len(lines) - 1, level))
    return found


def _raw_blocks(lines: Sequence[str], first_line: int) -> Iterator[tuple[BlockKind, list[str], int, int]]:
    """Yield (kind, lines, line number, heading level); a heading's lines hold its text alone."""
    held: list[str] = []
    start = 0
    at = 0
    while at < len(lines):
        line = lines[at]
        special = _special(lines, at, bool(held))
        if special is None and line.strip():
            if not held:
                start = at
            held.append(line)
            at += 1
            continue
        if special is not None and special[0] == "setext":
            yield "heading", [" ".join(part.strip() for part in held)], first_line + start, special[2]
            held = []
            at += 1
            continue
        if held:
            yield _kind(held), held, first_line + start, 0
            held = []
        if special is None:
            at += 1
            continue
        kind, size, level = special
        if kind == "heading":
            marks = _ATX.match(line)
            yield "heading", [(marks["text"] or "") if marks else line], first_line + at, level
        elif kind == "fence":
            yield "fence", [text.rstrip() for text in lines[at : at + size]], first_line + at, 0
        elif kind == "comment":
            yield "comment", list(lines[at : at + size]), first_line + at, 0
        at += size
    if held:
        yield _kind(held), held, first_line + start, 0


def _special(lines: Sequence[str], at: int, is_held: bool) -> tuple[str, int, int] | None:
    """Return (what starts here, its lines, heading level), or null for plain text."""
    line = lines[at]
    if not line.strip():
        return None
    if fence := _FENCE.match(line):
        if fence["mark"][0] == "`" and "`" in fence["info"]:
            return None
        return "fence", _fence_size(lines, at, fence["mark"]), 0
    if line.lstrip().startswith("<!--"):
        return "comment", _comment_size(lines, at), 0
    if marks := _ATX.match(line):
        return "heading", 1, len(marks["marks"])
    if is_held and (under := _SETEXT.match(line)):
        return "setext", 1, 1 if under["one"] else 2
    return ("rule", 1, 0) if _RULE.match(line) else None


def _fence_size(lines: Sequence[str], at: int, mark: str) -> int:
    close = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
    end = next((line for line in range(at + 1, len(lines)) if close.match(lines[line])), None)
    if end is not None:
        return end - at + 1
    last = len(lines)
    while last > at + 1 and not lines[last - 1].strip():
        last -= 1
    return last - at


def _comment_size(lines: Sequence[str], at: int) -> int:
    end = next((line for line in range(at, len(lines)) if "-->" in lines[line]), at)
    return end - at + 1


def _kind(lines: Sequence[str]) -> BlockKind:
    if all(line.lstrip().startswith(">") for line in lines):
        return "quote"
    return "table" if lines[0].lstrip().startswith("|") else "paragraph"


def summary_of(found: Sequence[Block], limit: int = 300) -> str:
    """Return the first plain paragraph in one line, cut at a sentence or word within `limit` characters."""
    text = next((" ".join(block.text.split()) for block in found if block.kind == "paragraph"), "")
    return cut(plain(text), limit)


def cut(text: str, limit: int) -> str:
    """Return the text, or as many whole sentences as fit, else as many words as fit with an ellipsis."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    sentence = max(head.rfind(mark) for mark in ("。", "！", "？", ". ", "! ", "? "))
    if sentence >= limit // 2:
        return head[: sentence + 1].rstrip()
    space = head.rfind(" ")
    return (head[:space] if space >= limit * 2 // 3 else head).rstrip() + "…"


def passages(found: Sequence[Block]) -> tuple[Passage, ...]:
    """Return the passages of a document: whole blocks of one section together, up to 400 tokens.

    A new top or second-level heading always starts a passage, so that an edit moves no passage of another section;
    a deeper one starts a passage once 200 tokens are full. Equal text has the same id; a repetition gets a suffix.
    """
    packed: list[list[Block]] = []
    size = 0
    for block in _fitting(found):
        count = tokens(block.text)
        if not packed or _parts_here(packed[-1], block, size, count):
            packed.append([])
            size = 0
        packed[-1].append(block)
        size += count
    texts = [group for group in packed if any(block.kind != "heading" for block in group)]
    return _numbered(_passage(group, at) for at, group in enumerate(texts))


def _parts_here(group: Sequence[Block], block: Block, size: int, count: int) -> bool:
    if block.kind == "heading":
        only_headings = all(held.kind == "heading" for held in group)
        return not only_headings and (block.level <= 2 or size >= MIN_TOKENS)
    return size + count > MAX_TOKENS and any(held.kind != "heading" for held in group)


def _passage(group: Sequence[Block], position: int) -> Passage:
    first = next(block for block in group if block.kind != "heading")
    body = group[group.index(first) :]
    text = "\n\n".join(f"{'#' * b.level} {b.text}" if b.kind == "heading" else b.text for b in body)
    return Passage(
        passage_id=hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16],
        text=text,
        heading_path=first.heading_path,
        start_line=group[0].start_line,
        end_line=group[-1].end_line,
        position=position,
    )


def _numbered(found: Iterator[Passage]) -> tuple[Passage, ...]:
    seen: dict[str, int] = {}
    result: list[Passage] = []
    for passage in found:
        times = seen[passage.passage_id] = seen.get(passage.passage_id, 0) + 1
        result.append(passage if times == 1 else replace(passage, passage_id=f"{passage.passage_id}-{times}"))
    return tuple(result)


def _fitting(found: Sequence[Block]) -> Iterator[Block]:
    """Yield the blocks, those of more than 400 tokens in pieces; comments are left out."""
    for block in found:
        if block.kind == "comment":
            continue
        if block.kind == "heading" or tokens(block.text) <= MAX_TOKENS:
            yield block
            continue
        line = block.start_line
        for piece in _pieces(block):
            height = piece.count("\n")
            end = min(block.end_line, line + height)
            yield replace(block, text=piece.strip("\n"), start_line=line, end_line=end)
            line = min(block.end_line, end + (1 if piece.endswith("\n") else 0))


def _pieces(block: Block) -> Iterator[str]:
    """Yield the text in pieces of at most 400 tokens: by lines, else sentences, else words."""
    held, size = "", 0
    for unit in _units(block.text):
        count = tokens(unit)
        if held and size + count > MAX_TOKENS:
            yield held
            held, size = "", 0
        held += unit
        size += count
    if held.strip():
        yield held


def _units(text: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        if tokens(line) <= MAX_TOKENS:
            yield line
            continue
        for sentence in re.split(r"(?<=[.!?。！？；;])", line):
            if tokens(sentence) <= MAX_TOKENS:
                yield sentence
            else:
                words = re.findall(f"[{CJK}]\\W*|(?:(?![{CJK}])\\w)+\\W*|\\W+", sentence)
                yield from ("".join(words[at : at + MAX_TOKENS]) for at in range(0, len(words), MAX_TOKENS))
