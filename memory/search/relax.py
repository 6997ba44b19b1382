"""Progressive relaxation: how much of a query a result matches decides its tier; tiers fill up to k in order.

`and` every term, `min_match` at least half of them, `strong` every id and at least one other word, `or` any. A tier
never hides the ones behind it: what matches more stands first, inside a tier BM25 decides. Source: F200 HW-6.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from memory.anchors import ID
from memory.search.query import Query, quote

Tier = Literal["pin", "and", "min_match", "strong", "or", "semantic"]

TIERS: tuple[Tier, ...] = ("pin", "and", "min_match", "strong", "or", "semantic")
"""From tight to loose."""


def strong_tokens(tokens: Sequence[str]) -> list[str]:
    """Return the tokens that are ids."""
    return [token for token in tokens if ID.fullmatch(token) is not None]


def all_terms(query: Query) -> str:
    """Return the FTS5 expression that matches what holds every term."""
    return " AND ".join(term.match() for term in query.terms)


def any_term(query: Query) -> str:
    """Return the FTS5 expression that matches what holds any term or boost."""
    return " OR ".join([*(term.match() for term in query.terms), *(quote(phrase) for phrase in query.boosts)])


def tier_of(query: Query, matched: Collection[int]) -> Tier:
    """Return the tier of a result that matches these terms, by their positions."""
    if len(matched) == len(query.terms):
        return "and"
    if 2 * len(matched) >= len(query.terms):
        return "min_match"
    strong = frozenset(query.strong)
    if strong and strong <= frozenset(matched) and len(matched) > len(strong):
        return "strong"
    return "or"


def ordered(query: Query, ranked: Sequence[int], matched: Mapping[int, Collection[int]]) -> list[tuple[int, Tier]]:
    """Return results with their tiers: tighter tiers first, then more ids, then the order that BM25 gave."""
    strong = frozenset(query.strong)
    rows = [
        (row, tier_of(query, matched.get(row, ())), len(strong & frozenset(matched.get(row, ())))) for row in ranked
    ]
    rows.sort(key=lambda entry: (TIERS.index(entry[1]), -entry[2]))
    return [(row, tier) for row, tier, _ in rows]
