"""One slot for documents that were hardly ever shown: without it, what is never shown is never learned about.

Rarely, and never on rank 1, the slot's document gives way to an under-exposed one that is nearly as relevant, drawn by
Thompson sampling from what is known of their consumption. The chance of what stands there is known exactly and logged.
Source: Thompson 1933; facts behind ADR 0603 (coverage costs about 5 % of consumptions, so it is off by default).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from streams.recall import AnchorPrior


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """Where, how often, and for whom."""

    rate: float = 0.0
    """Share of searches that explore; 0.02 to 0.05 where it is on."""
    slot: int = 4
    """1-based rank that is given away; never 1."""
    exposed_below: int = 20
    relevance_at_least: float = 0.8
    """Of the slot's own relevance."""
    draws: int = 200

    def __post_init__(self) -> None:
        """Refuse rank 1 and rates outside [0, 1]."""
        if self.slot < 2:
            raise ValueError(f"exploration takes rank 2 or below, got {self.slot}")
        if not 0.0 <= self.rate <= 1.0:
            raise ValueError(f"the rate lies in [0, 1], got {self.rate}")


@dataclass(frozen=True, slots=True)
class Explored:
    """The order to show and the chance of what stands on the slot."""

    order: tuple[str, ...]
    slot: int | None
    """1-based rank that was up for exploration; None when nothing was."""
    propensity: float
    """Chance in (0, 1] of the document on the slot to stand there; 1 when nothing was up."""


def explore(
    order: Sequence[str],
    relevance: Mapping[str, float],
    priors: Mapping[str, AnchorPrior],
    settings: Exploration,
    *,
    seed: int,
    exact_id: bool = False,
) -> Explored:
    """Return the order with the slot perhaps given to an under-exposed document from below; a swap, nothing is lost."""
    unchanged = Explored(tuple(order), None, 1.0)
    if exact_id or settings.rate == 0.0 or len(order) <= settings.slot:
        return unchanged
    place = settings.slot - 1
    bar = settings.relevance_at_least * relevance.get(order[place], 0.0)
    fresh = [
        anchor
        for anchor in order[place + 1 :]
        if relevance.get(anchor, 0.0) >= bar and _exposures(priors.get(anchor)) < settings.exposed_below
    ]
    if not fresh:
        return unchanged
    random = np.random.default_rng(seed)
    chances = _thompson([priors.get(anchor) for anchor in fresh], settings.draws, random)
    if random.random() >= settings.rate:
        return Explored(tuple(order), settings.slot, 1.0 - settings.rate)
    chosen = int(random.choice(len(fresh), p=chances))
    swapped = list(order)
    other = swapped.index(fresh[chosen])
    swapped[place], swapped[other] = swapped[other], swapped[place]
    return Explored(tuple(swapped), settings.slot, settings.rate * float(chances[chosen]))


def _exposures(prior: AnchorPrior | None) -> int:
    return prior.exposures if prior else 0


def _thompson(
    priors: Sequence[AnchorPrior | None], draws: int, random: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return each document's chance to have the largest ratio of observed to expected consumption, all above 0."""
    known = [prior.calibrated if prior else None for prior in priors]
    shapes = np.array([c.strength + c.observed if c else 10.0 for c in known])
    rates = np.array([c.strength + c.expected if c else 10.0 for c in known])
    best = np.argmax(random.gamma(shapes, 1.0, size=(draws, len(known))) / rates, axis=1)
    wins = np.bincount(best, minlength=len(known)) + 1.0
    chances: np.ndarray[tuple[int], np.dtype[np.float64]] = wins / wins.sum()
    return chances
