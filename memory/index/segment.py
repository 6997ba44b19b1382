"""Text to tokens that SQLite's own tokenizer keeps whole: CJK bigrams, identifiers with their parts.

FTS5 knows no Chinese: `unicode61` takes a run of CJK letters for one token, and Latin words glued to it as well. The
index therefore holds segmented text: runs of CJK as overlapping bigrams and the last letter alone, identifiers whole
and in parts. The query goes through the same rules, so that index and query can never disagree; no dictionary is
needed and the table stays readable by every SQLite.

Source: facts measured on 91 known-item queries (docs/adr/0501-segmentation.md).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

SEGMENTER_VERSION = 1
"""Rises when the same text would give other tokens; an index of another version is rebuilt."""

CJK = (
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0002fa1f\U00030000-\U0003134f"
)
"""Letters of Chinese, Japanese and Korean, for use inside a character class."""

_CJK_RUN = re.compile(f"[{CJK}]+")
WORD = f"[^\\W_{CJK}]"
"""A letter or digit that is no CJK."""

_RUN = re.compile(f"([{CJK}]+)|({WORD}+(?:[_-]+{WORD}+)*)")
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
"""Pieces of an identifier: `parseHTTPHeader2` is parse, HTTP, Header, 2."""


def has_cjk(text: str) -> bool:
    """Tell whether the text holds a letter of Chinese, Japanese or Korean."""
    return _CJK_RUN.search(text) is not None


def normalise(text: str) -> str:
    """Return the text with full-width letters folded and what no UTF-8 can hold replaced."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8"))


def runs(text: str) -> Iterator[tuple[bool, str]]:
    """Yield (is CJK, run) for each run of CJK letters and each word or identifier, in text order."""
    for cjk, word in _RUN.findall(normalise(text)):
        yield bool(cjk), cjk or word


def bigrams(run: str) -> list[str]:
    """Return the overlapping pairs of a CJK run; a single letter is returned alone."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


@lru_cache(maxsize=65536)
def parts(word: str) -> tuple[str, ...]:
    """Return the pieces of an identifier, empty for a plain word: `cross_post-Message` is cross, post, Message."""
    if word.isalpha() and (word.islower() or word.istitle() or word.isupper()):
        return ()
    pieces = [piece for chunk in re.split(r"[_-]+", word) for piece in _pieces(chunk)]
    return tuple(pieces) if len(pieces) > 1 else ()


def _pieces(chunk: str) -> list[str]:
    """Split by case; a chunk of letters and one number, such as `F102`, stays whole: it is an id."""
    if re.fullmatch(r"[A-Za-z]*\d+|\d+[A-Za-z]*", chunk):
        return [chunk]
    return _PARTS.findall(chunk)


def segment(text: str) -> str:
    """Return the text as the index stores it: tokens parted by spaces."""
    tokens: list[str] = []
    for cjk, word in _RUN.findall(normalise(text)):
        if not cjk:
            tokens.append(word)
            if not (word.islower() and word.isalpha()):
                tokens += parts(word)
        elif len(cjk) == 1:
            tokens.append(cjk)
        else:
            tokens += [cjk[at : at + 2] for at in range(len(cjk) - 1)]
            tokens.append(cjk[-1])
    return " ".join(tokens)
