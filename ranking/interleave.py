"""Team-draft interleaving: two rankers share one list, and what is opened tells which of them was right.

Each round a coin decides who chooses first; each team then adds its best document that is not yet on the list. A
consumption credits the team that placed it. One invocation is one vote, by its first search that credits a team:
later searches of a turn are no independent evidence. Source: Radlinski, Kurup and Joachims 2008; Chapelle et al. 2012.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

Team = Literal["a", "b"]
Coin = Callable[[int], bool]


@dataclass(frozen=True, slots=True)
class Slot:
    """One place of an interleaved list."""

    anchor: str
    team: Team
    propensity: float
    """Probability in (0, 1] that this document stands on this place, over all coins."""


def seeded_coin(seed: str) -> Coin:
    """Return fair coins, one a round, that the same seed always throws the same way."""
    bits = int.from_bytes(hashlib.sha256(seed.encode()).digest(), "big")
    return lambda round_: bool(bits >> (round_ % 256) & 1)


def team_draft(a: Sequence[str], b: Sequence[str], *, limit: int, coin: Coin) -> list[Slot]:
    """Return the list that two orders of the same documents draft together; `coin` says whether `a` chooses first."""
    size = min(limit, len(set(a) | set(b)))
    chances = placement_chances(a, b, size)
    used: set[str] = set()
    slots: list[Slot] = []
    while len(slots) < size:
        teams: tuple[Team, Team] = ("a", "b") if coin(len(slots) // 2) else ("b", "a")
        for team in teams[: size - len(slots)]:
            anchor = _best_unused(a if team == "a" else b, used)
            if anchor is None:
                continue
            used.add(anchor)
            slots.append(Slot(anchor, team, chances[len(slots)][anchor]))
    return slots


def placement_chances(a: Sequence[str], b: Sequence[str], size: int) -> list[dict[str, float]]:
    """Return for each place the probability of every document to stand there, exactly, over all coins."""
    chances: list[dict[str, float]] = [{} for _ in range(size)]
    states: dict[frozenset[str], float] = {frozenset(): 1.0}
    for place in range(0, size, 2):
        following: dict[frozenset[str], float] = {}
        for used, chance in states.items():
            for first, second in ((a, b), (b, a)):
                taken = set(used)
                for offset, order in enumerate((first, second)[: size - place]):
                    anchor = _best_unused(order, taken)
                    if anchor is not None:
                        taken.add(anchor)
                        there = chances[place + offset]
                        there[anchor] = there.get(anchor, 0.0) + chance / 2
                key = frozenset(taken)
                following[key] = following.get(key, 0.0) + chance / 2
        states = following
    return chances


def credited(
    slots: Sequence[tuple[str, str | None]], a: Sequence[str], b: Sequence[str], consumed: Collection[str]
) -> Team | None:
    """Return the team that a search's consumptions prefer; None for a tie or nothing that tells them apart.

    A document that both rankers put on the same place is neutral: whoever drafted it, the coin decided.
    """
    place_a, place_b = _places(a), _places(b)
    score = 0
    for anchor, team in slots:
        if anchor in consumed and team is not None and place_a.get(anchor) != place_b.get(anchor):
            score += 1 if team == "b" else -1
    return None if score == 0 else "b" if score > 0 else "a"


@dataclass(frozen=True, slots=True)
class Tally:
    """Votes of invocations: `a` the base order, `b` the reranked one."""

    a: int = 0
    b: int = 0
    ties: int = 0

    @property
    def decided(self) -> int:
        """Invocations that prefer a team."""
        return self.a + self.b

    @property
    def delta(self) -> float | None:
        """Advantage of `b` in [-1/2, 1/2], ties counted half; None without a vote."""
        votes = self.decided + self.ties
        return None if votes == 0 else (self.b + self.ties / 2) / votes - 0.5


def tally(votes: Sequence[tuple[str, Team | None]]) -> Tally:
    """Count one vote an invocation, its first decided one; `votes` are (invocation, preferred team) by time."""
    first: dict[str, Team | None] = {}
    for invocation, team in votes:
        if first.get(invocation) is None:
            first[invocation] = team
    teams = list(first.values())
    return Tally(teams.count("a"), teams.count("b"), teams.count(None))


def _best_unused(order: Sequence[str], used: Collection[str]) -> str | None:
    return next((anchor for anchor in order if anchor not in used), None)


def _places(order: Sequence[str]) -> dict[str, int]:
    return {anchor: place for place, anchor in enumerate(order)}
