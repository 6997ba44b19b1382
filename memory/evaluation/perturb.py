"""Perturbed queries: the same wish, typed otherwise. Seeded: the same seed gives the same queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from memory.evaluation.measures import KnownItem
from memory.index.segment import has_cjk

ENDINGS = ("please", "thanks", "overview", "谢谢")


def _swapped_case(text: str, random: np.random.Generator) -> str:
    return text.swapcase()


def _spaced(text: str, random: np.random.Generator) -> str:
    return f"  {text.replace(' ', '   ')} "


def _wide(text: str, random: np.random.Generator) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def _shuffled(text: str, random: np.random.Generator) -> str:
    words = text.split()
    return " ".join(words[at] for at in random.permutation(len(words)))


def _asked(text: str, random: np.random.Generator) -> str:
    return f"{text}是怎么回事？" if has_cjk(text) else f"what about {text}?"


def _punctuated(text: str, random: np.random.Generator) -> str:
    return f'"{text}"!'


def _padded(text: str, random: np.random.Generator) -> str:
    return f"{text} {ENDINGS[int(random.integers(len(ENDINGS)))]}"


KINDS: dict[str, Callable[[str, np.random.Generator], str]] = {
    "case": _swapped_case,
    "space": _spaced,
    "full_width": _wide,
    "order": _shuffled,
    "question": _asked,
    "punctuation": _punctuated,
    "padding": _padded,
}
"""Ways to type a query otherwise; none changes what is wanted."""


def perturbed(items: Sequence[KnownItem], seed: int) -> list[KnownItem]:
    """Return every query in every way, with the way as its class."""
    random = np.random.default_rng(seed)
    return [
        replace(item, query=change(item.query, random), query_class=name)
        for item in items
        for name, change in KINDS.items()
    ]
