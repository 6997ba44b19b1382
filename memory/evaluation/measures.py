"""Measures of a ranked list against what was wanted, each with an interval. Ranks are 1-based; a miss is null."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory.anchors import anchor_key

CUTS = (1, 5, 10)
Z95 = 1.959963984540054
BOOTSTRAP_ROUNDS = 2000
NO_ANSWER = "no_answer"
"""Class of queries that nothing in the documents answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownItem:
    """A query with what it should find."""

    query: str
    anchor: str | None
    """Null: nothing answers it."""
    also: tuple[str, ...] = ()
    query_class: str = "all"

    @property
    def wanted(self) -> frozenset[str]:
        """Keys of the acceptable anchors."""
        return frozenset(anchor_key(a) for a in (self.anchor, *self.also) if a is not None)


def known_item(record: dict[str, Any]) -> KnownItem:
    """Return a query from one line of a file: query, anchor, also, class.

    Raises:
        ValueError: naming what is missing.
    """
    query, anchor, also = record.get("query"), record.get("anchor"), record.get("also", [])
    if not isinstance(query, str) or not (anchor is None or isinstance(anchor, str)) or not isinstance(also, list):
        raise ValueError(f"expected query and anchor as text and also as a list, got {record!r}")
    return KnownItem(
        query=query, anchor=anchor, also=tuple(map(str, also)), query_class=str(record.get("class", "all"))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a search gave for one query."""

    item: KnownItem
    shown: tuple[str, ...]
    """Anchors in order."""
    confident: bool
    elapsed_ms: float = 0.0

    @property
    def rank(self) -> int | None:
        """Rank of the first acceptable anchor."""
        keys = [anchor_key(anchor) for anchor in self.shown]
        return next((at for at, key in enumerate(keys, start=1) if key in self.item.wanted), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A mean with its 95 % interval; null where there is nothing to count."""

    value: float | None
    low: float | None
    high: float | None
    n: int


def rate(hits: int, n: int) -> Figure:
    """Return a share with its Wilson interval."""
    if n == 0:
        return Figure(value=None, low=None, high=None, n=0)
    p = hits / n
    middle = (p + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 * math.sqrt(p * (1 - p) / n + Z95**2 / (4 * n * n)) / (1 + Z95**2 / n)
    return Figure(value=p, low=max(0.0, middle - half), high=min(1.0, middle + half), n=n)


def mean(values: Sequence[float], seed: int = 0) -> Figure:
    """Return a mean with its percentile bootstrap interval, from a seeded generator."""
    if not values:
        return Figure(value=None, low=None, high=None, n=0)
    sample = np.asarray(values, dtype=np.float64)
    draws = np.random.default_rng(seed).integers(0, len(sample), size=(BOOTSTRAP_ROUNDS, len(sample)))
    low, high = np.percentile(sample[draws].mean(axis=1), [2.5, 97.5])
    return Figure(value=float(sample.mean()), low=float(low), high=float(high), n=len(sample))


def ndcg(outcome: Outcome, k: int = 10) -> float:
    """Return nDCG@k with gain 1 for each acceptable anchor (Jaervelin and Kekaelaeinen 2002)."""
    keys = [anchor_key(anchor) for anchor in outcome.shown[:k]]
    gained = sum(1.0 / math.log2(at + 1) for at, key in enumerate(keys, start=1) if key in outcome.item.wanted)
    ideal = sum(1.0 / math.log2(at + 1) for at in range(1, min(k, len(outcome.item.wanted)) + 1))
    return gained / ideal if ideal else 0.0


def figures(outcomes: Iterable[Outcome]) -> dict[str, Figure]:
    """Return the measures of one set of outcomes.

    `no_answer_precision` is over answers without a confident match: the share whose query has no answer indeed.
    `no_answer_recall` is over queries without an answer: the share that is told so.
    """
    known = list(outcomes)
    answered = [one for one in known if one.item.anchor is not None]
    ranks = [one.rank for one in answered]
    silent = [one for one in known if not one.confident or not one.shown]
    unanswerable = [one for one in known if one.item.anchor is None]
    found = {f"recall_at_{k}": rate(sum(1 for r in ranks if r is not None and r <= k), len(ranks)) for k in CUTS}
    return {
        **found,
        "mrr": mean([0.0 if r is None else 1.0 / r for r in ranks]),
        "ndcg_at_10": mean([ndcg(one) for one in answered]),
        "empty": rate(sum(1 for one in answered if not one.shown), len(answered)),
        "no_answer_precision": rate(sum(1 for one in silent if one.item.anchor is None), len(silent)),
        "no_answer_recall": rate(sum(1 for one in unanswerable if one in silent), len(unanswerable)),
        "elapsed_ms": mean([one.elapsed_ms for one in known]),
    }


def by_class(outcomes: Sequence[Outcome]) -> dict[str, dict[str, Figure]]:
    """Return the measures of all outcomes under `all`, then of each class in the order of its first query."""
    classes = dict.fromkeys(one.item.query_class for one in outcomes)
    split = {
        name: figures(one for one in outcomes if one.item.query_class == name) for name in classes if name != "all"
    }
    return {"all": figures(outcomes), **split}


@dataclass(frozen=True, slots=True, kw_only=True)
class FixtureResult:
    """Whether a fixture's query finds what it names, and nothing that it forbids."""

    hit: bool
    rank: int | None
    """1-based, null outside k."""
    guard_violated: bool


def fixture(expected: str, k: int, results: Sequence[str], negative: str | None = None) -> FixtureResult:
    """Judge one fixture: `expected` and `negative` are anchors or globs over anchors and paths. Source: F200 HW-5."""
    shown = list(results[:k])
    rank = next((at for at, name in enumerate(shown, start=1) if _fits(name, expected)), None)
    violated = negative is not None and any(_fits(name, negative) for name in shown)
    return FixtureResult(hit=rank is not None, rank=rank, guard_violated=violated)


def _fits(name: str, pattern: str) -> bool:
    return anchor_key(name) == anchor_key(pattern) or fnmatch.fnmatchcase(name, pattern)
