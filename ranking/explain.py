"""Why a result stands where it stands: a waterfall whose parts sum to its score, and one sentence."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from streams.recall import AnchorPrior

Estimator = Literal["spec", "calibrated"]


class PriorEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """What the prior of one result rests on."""

    estimator: Estimator
    effect: float
    """Share of the result's relevance that consumption adds or takes, in [-0.15, 0.15]."""
    rule: str
    """The branch or guard that decided: `full`, `cold_start`, `single_read`, ..."""
    exposures: int
    consumptions: float
    expected: float | None
    """Consumptions expected at the ranks shown; null without the calibrated estimate."""
    low: float | None
    high: float | None
    """5 % and 95 % quantiles of observed to expected."""
    as_of: datetime


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """One result's way from the base order to its place."""

    anchor: str
    rank: int
    base_rank: int
    rank_without_prior: int
    """Where it would stand if nobody's consumption counted."""
    parts: dict[str, float]
    """base, authority, recency, stale, mmr, prior, in this order; they sum to `score`."""
    score: float
    protected: bool = False
    """Pinned by its exact id, or constitutional: consumption cannot lower it."""
    prior: PriorEvidence | None = None

    def sentence(self) -> str:
        """Say it in one line, for a person."""
        effect = self.prior.effect if self.prior else 0.0
        return f"{_moved(self.rank, self.rank_without_prior, effect)}: {_evidence(self.prior, self.protected)}"


def evidence(prior: AnchorPrior, estimator: Estimator, effect: float, rule: str) -> PriorEvidence:
    """Return what a prior rests on, ready to show."""
    calibrated = prior.calibrated
    return PriorEvidence(
        estimator=estimator,
        effect=effect,
        rule=rule,
        exposures=prior.exposures,
        consumptions=prior.consumptions,
        expected=calibrated.expected if calibrated else None,
        low=calibrated.low if calibrated else None,
        high=calibrated.high if calibrated else None,
        as_of=prior.as_of,
    )


def _moved(rank: int, without: int, effect: float) -> str:
    if rank == without:
        return f"rank {rank}, the same without consumption"
    if rank < without:
        rose = "by consumption" if effect > 0 else "because others fell"
        return f"rank {rank}, up from {without} {rose}"
    fell = "by consumption" if effect < 0 else "because others rose past it"
    return f"rank {rank}, down from {without} {fell}"


_REASONS = {
    "grace": "indexed less than 14 days ago, so it takes no part yet",
    "cold_start": "shown too rarely to say anything",
    "single_read": "a single reading never lifts",
    "no_evidence": "the interval holds what its ranks let expect",
}


def _evidence(prior: PriorEvidence | None, protected: bool) -> str:
    if prior is None:
        return "no consumption is known"
    shown = f"opened {prior.consumptions:g} of {prior.exposures} times shown in 30 days"
    if prior.expected is not None:
        shown += f" ({prior.expected:.1f} expected at its ranks, factor {prior.low:.2f} to {prior.high:.2f})"
    if prior.rule in _REASONS:
        return f"{shown}; {_REASONS[prior.rule]}"
    if prior.effect == 0.0:
        return f"{shown}; {'protected from falling' if protected else 'no effect'}"
    return f"{shown}; {prior.effect:+.1%} of its relevance"
