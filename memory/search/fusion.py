"""Reciprocal rank fusion: several ranked lists to one, by place and weight, never by raw scores."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)

RRF_K = 60
"""Damping of the first places (Cormack, Clarke and Buettcher 2009)."""

WEIGHTS: dict[str, float] = {"docs": 1.0, "passages": 0.3, "vectors": 0.6, "vector_passages": 0.4, "names": 0.5}
"""Measured: a weak leg with the weight of a strong one breaks id queries (docs/adr/0502-fusion.md)."""

LOOSE_TRUST = 0.6
"""What a lexical leg counts for a document that holds less than half of the query: a weak word match stands behind
a near meaning. Measured: hybrid MRR 0.91 without, 0.94 with it (docs/adr/0502-fusion.md)."""

RAW_WEIGHTS: dict[str, float] = {"docs": 0.5, "passages": 1.0, "vectors": 0.5, "vector_passages": 1.0, "names": 0.5}
"""Depth raw asks for passages."""

CJK_VECTOR_WEIGHT = 1.5


def weights_for(weights: Mapping[str, float], literal: float) -> dict[str, float]:
    """Return the weights for a query that asks for its very letters by so much, in [0, 1].

    No model has learned what `headRefOid` means: where it stands in a passage is all the evidence there is. Fully
    literal, passages count like titles and vectors only fill up.
    """
    near = 1.0 - 0.999 * literal
    changed = {name: weight * near for name, weight in weights.items() if name.startswith("vector")}
    return {**weights, **changed, "passages": weights["passages"] + (1.0 - weights["passages"]) * literal}


def fuse(
    legs: Mapping[str, Sequence[K]],
    weights: Mapping[str, float],
    trust: Mapping[tuple[str, K], float] | None = None,
) -> dict[K, dict[str, float]]:
    """Return each member's score parts by leg, best sum first; the first place of a list counts w/60.

    `trust` lowers what a leg says of a member, by (leg, member), in (0, 1].

    Ties keep the order of the legs as given, then of the list. A member that stands twice in a list counts once.
    """
    scores: dict[K, dict[str, float]] = {}
    for name, members in legs.items():
        weight = weights.get(name, 1.0)
        for place, member in enumerate(dict.fromkeys(members)):
            share = 1.0 if trust is None else trust.get((name, member), 1.0)
            scores.setdefault(member, {})[name] = weight * share / (RRF_K + place)
    return dict(sorted(scores.items(), key=lambda entry: -sum(entry[1].values())))


def trust_in(tier: str, literal: float) -> float:
    """Return what a leg counts for a document that matches in this tier, in (0, 1].

    Who asks for `credentials.json` is not served by what holds a `json` and some credentials.
    """
    if tier in ("min_match", "strong", "or"):
        return (LOOSE_TRUST if tier == "or" else 1.0) * (1.0 - 0.8 * literal)
    return 1.0


def pool_size(limit: int) -> int:
    """Return how many results of each leg to fuse for a page of `limit`: four pages, within 20 and 100."""
    return min(max(4 * limit, 20), 100)


def vector_weight(*, is_cjk: bool) -> float:
    """Return the vector leg's weight in plain two-list fusion: more for CJK queries, where words overlap less."""
    return CJK_VECTOR_WEIGHT if is_cjk else 1.0
