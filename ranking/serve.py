"""What a search shows: one of the two orders, a draft of both, perhaps with a slot given to exploration.

Every document's chance to stand where it stands is known at search time and goes into the sidecar, so that what is
learned later does not depend on the memory of a process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ranking.explore import Exploration, explore
from ranking.interleave import Team, seeded_coin, team_draft
from ranking.rerank import Reranked
from streams.recall import AnchorPrior


@dataclass(frozen=True, slots=True)
class Served:
    """The order to show and how it came about."""

    order: tuple[str, ...]
    """Anchors, as many as were asked for."""
    ranker_mode: Literal["off", "shadow", "on", "interleave"]
    propensities: dict[str, float] = field(default_factory=dict)
    """By anchor, in (0, 1]; 1 where nothing was left to chance."""
    teams: dict[str, Team] = field(default_factory=dict)
    """By anchor; empty unless both orders drafted the list. `a` is the base order."""


def serve(
    reranked: Reranked,
    priors: Mapping[str, AnchorPrior],
    *,
    limit: int,
    seed: str,
    interleave: bool = False,
    exploration: Exploration | None = None,
    exact_id: bool = False,
) -> Served:
    """Return what to show of a reranked pool; the same seed always shows the same.

    A draft needs both orders, so mode `off` or unreadable priors show the base order. Explicit ids are neither drafted
    nor explored: who asks for a document by name gets it.
    """
    mode = reranked.mode if reranked.reranked_order is not None else "off"
    if interleave and not exact_id and mode != "off" and reranked.reranked_order is not None:
        slots = team_draft(reranked.base_order, reranked.reranked_order, limit=limit, coin=seeded_coin(seed))
        return Served(
            tuple(slot.anchor for slot in slots),
            "interleave",
            {slot.anchor: slot.propensity for slot in slots},
            {slot.anchor: slot.team for slot in slots},
        )
    order = reranked.shown
    chances = dict.fromkeys(order[:limit], 1.0)
    if exploration is not None and mode != "off" and limit >= exploration.slot:
        relevance = {anchor: why.parts["base"] for anchor, why in reranked.explanations.items()}
        number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big")
        explored = explore(order, relevance, priors, exploration, seed=number, exact_id=exact_id)
        order = explored.order
        chances = dict.fromkeys(order[:limit], 1.0)
        if explored.slot is not None:
            chances[order[explored.slot - 1]] = explored.propensity
    return Served(order[:limit], mode, chances)
