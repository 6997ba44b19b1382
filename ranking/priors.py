"""The specification's consumption prior: how much more, or less, a document is opened than its kind.

    shrunk_ctr = (consumed + 2) / (exposures + 10)
    raw_lift   = (shrunk_ctr - mean_ctr_kind) x T / (T + days since last consumed)

A constitutional document can only gain; a new one takes no part for 14 days; below 5 exposures nothing is said,
below 20 nothing bad is said. Source: F200 "consumption_prior" (OQ-5), KD-4, KD-8, KD-9.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from ranking.recency import HALF_LIFE_DAYS, OTHER_HALF_LIFE_DAYS
from streams.recall import SpecPrior

Branch = Literal["constitutional", "grace", "cold_start", "low_sample", "full"]

WINDOW_DAYS = 30
"""Exposures and consumptions of these days count; nothing older does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecConstants:
    """The specification's numbers, as data."""

    alpha: float = 2.0
    beta: float = 8.0
    """`alpha` reads in `alpha + beta` imagined exposures stand behind every document."""
    cold_start_below: int = 5
    low_sample_below: int = 20
    grace_days: float = 14.0
    mean_ctr: float = 0.2
    """Mean of a kind that nobody has measured: the imagined exposures' own."""
    never_consumed: float = 0.5
    """Recency factor without any consumption. The specification leaves it open; its limit of 0 would forgive
    every document that is shown and never opened, so half of the lift stays."""


SPEC = SpecConstants()


class AnchorRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is known of one anchor's consumption at one instant."""

    kind: str
    exposures: int
    """In the 30 days before."""
    consumed: float
    """Lists of those days in which it was opened; a shared opening counts its part."""
    days_since_consumed: float | None = None
    """Over all history; None when it was never consumed."""
    days_since_indexed: float | None = None
    """None when unknown: then there is no grace."""
    constitutional: bool = False


def spec_prior(record: AnchorRecord, mean_ctr_kind: float | None = None, constants: SpecConstants = SPEC) -> SpecPrior:
    """Return the consumption prior of one anchor, with everything that made it."""
    mean = constants.mean_ctr if mean_ctr_kind is None else mean_ctr_kind
    shrunk = (record.consumed + constants.alpha) / (record.exposures + constants.alpha + constants.beta)
    factor = recency_factor(record.kind, record.days_since_consumed, constants)
    branch = branch_of(record, constants)
    return SpecPrior(
        prior=_bounded(branch, (shrunk - mean) * factor),
        branch=branch,
        shrunk_ctr=shrunk,
        mean_ctr_kind=mean,
        recency_factor=factor,
        days_since_consumed=record.days_since_consumed,
    )


def recency_factor(kind: str, days_since_consumed: float | None, constants: SpecConstants = SPEC) -> float:
    """Return how much of a lift is left since the last consumption, in (0, 1]; 1 for kinds that never fade."""
    half_life = HALF_LIFE_DAYS.get(kind, OTHER_HALF_LIFE_DAYS)
    if half_life is None:
        return 1.0
    if days_since_consumed is None:
        return constants.never_consumed
    return half_life / (half_life + days_since_consumed) if days_since_consumed > 0.0 else 1.0


def branch_of(record: AnchorRecord, constants: SpecConstants = SPEC) -> Branch:
    """Return which rule decides. New documents take no part at all, so grace stands first."""
    if record.days_since_indexed is not None and record.days_since_indexed < constants.grace_days:
        return "grace"
    if record.constitutional:
        return "constitutional"
    if record.exposures < constants.cold_start_below:
        return "cold_start"
    return "low_sample" if record.exposures < constants.low_sample_below else "full"


def _bounded(branch: Branch, lift: float) -> float:
    if branch in ("grace", "cold_start"):
        return 0.0
    return lift if branch == "full" else max(0.0, lift)
