"""Progressive relaxation: how much of a query a result matches decides its tier; tiers fill up to k in order.

`and` every term, `min_match` at least half of them, `strong` every id and at least one other word, `or` any. A tier
never hides the ones behind it: what matches more stands first, inside a tier BM25 decides. Source: F200 HW-6.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from memory.anchors import ID
from memory.search.query import Query, quote

Tier = Literal["pin", "and", "min_match", "strong", "or", "entity_or_semantic"]

TIERS: tuple[Tier, ...] = ("pin", "and", "min_match", "strong", "or", "entity_or_semantic")
"""From tight to loose."""


MAX_PAIRED_TERMS = 8
"""More terms make more pairs than it costs to rank every match of one."""


def strong_tokens(tokens: Sequence[str]) -> list[str]:
    """Return the tokens that are ids."""
    return [token for token in tokens if ID.fullmatch(token) is not None]


def all_terms(query: Query) -> str:
    """Return the FTS5 expression that matches what holds every term."""
    return " AND ".join(term.match() for term in query.terms)


def two_terms(query: Query) -> str | None:
    """Return the FTS5 expression that matches what holds two terms or more; null where pairs are none or too many."""
    if not 2 < len(query.terms) <= MAX_PAIRED_TERMS:
        return None
    return " OR ".join(f"({one.match()} AND {other.match()})" for one, other in combinations(query.terms, 2))


def any_term(query: Query) -> str:
    """Return the FTS5 expression that matches what holds any term or boost."""
    return " OR ".join([*(term.match() for term in query.terms), *(quote(phrase) for phrase in query.boosts)])


def tier_of(terms: int, matched: int, *, strong: int = 0, strong_matched: int = 0) -> Tier:
    """Return the tier of a result that holds `matched` of `terms`, among them `strong_matched` of `strong` ids."""
    if matched == terms:
        return "and"
    if 2 * matched >= terms:
        return "min_match"
    return "strong" if strong and strong_matched == strong and matched > strong else "or"


@dataclass(frozen=True, slots=True)
class Match:
    """One result of a leg."""

    row: int
    tier: Tier
    terms: int = 0
    """How many terms of the query it holds."""


def ordered(query: Query, ranked: Sequence[int], matched: Mapping[int, Collection[int]]) -> list[Match]:
    """Return results with their tiers: tighter tiers first, then more ids, then the order that BM25 gave."""
    strong = frozenset(query.strong)
    terms = len(query.terms)
    found: list[tuple[int, int, Match]] = []
    for row in ranked:
        held = matched.get(row, ())
        ids = sum(1 for position in held if position in strong) if strong else 0
        tier = tier_of(terms, len(held), strong=len(strong), strong_matched=ids)
        found.append((TIERS.index(tier), -ids, Match(row, tier, len(held))))
    found.sort(key=lambda entry: entry[:2])
    return [match for _, _, match in found]


def is_confident(query: Query, match: Match) -> bool:
    """Tell whether a result fits the query well enough to be called an answer.

    Half of the terms do; of a long query a quarter and at least three; one id alone does as well.
    """
    if match.tier in ("pin", "and", "min_match", "strong"):
        return True
    return match.tier == "or" and match.terms >= max(3, len(query.terms) / 4)
