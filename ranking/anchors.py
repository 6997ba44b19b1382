"""Exposures and documents to one prior an anchor, by both estimators."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
import numpy as np

from ranking.calibrated import CALIBRATED, Calibrated, calibrate
from ranking.constitutional import is_constitutional
from ranking.exposures import Exposures, Floats
from ranking.priors import SPEC, AnchorRecord, SpecConstants, spec_prior
from streams.recall import AnchorPrior, CalibratedPrior


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorFacts:
    """What is known of an anchor beside its exposures."""

    kind: str = ""
    authority: str = "observed"
    path: str = ""
    days_since_indexed: float | None = None
    last_consumed_at: datetime | None = None


_UNKNOWN = AnchorFacts()


def run_id(as_of: datetime) -> str:
    """Return the name of the run as of an instant: the same instant and constants, the same run."""
    return hashlib.sha256(f"{as_of.isoformat()} {SPEC} {CALIBRATED}".encode()).hexdigest()[:16]


def priors_of(exposures: Exposures, facts: Mapping[str, AnchorFacts], as_of: datetime) -> list[AnchorPrior]:
    """Return the prior of every anchor that was shown, in the order of `exposures.anchors`.

    What the index says of a document's kind and path stands before what a search said.
    """
    known = [facts.get(anchor, _UNKNOWN) for anchor in exposures.anchors]
    kinds = [fact.kind or kind for fact, kind in zip(known, exposures.kinds, strict=True)]
    paths = [fact.path or path for fact, path in zip(known, exposures.paths, strict=True)]
    lists, credit = exposures.per_anchor(exposures.lists), exposures.per_anchor(exposures.list_credit)
    means = kind_means(kinds, lists, credit)
    estimate = calibrate(exposures, kinds)
    run = run_id(as_of)
    found = []
    columns = zip(exposures.anchors, known, kinds, paths, lists.tolist(), credit.tolist(), _rows(estimate), strict=True)
    for anchor, fact, kind, path, shown, consumed, calibrated in columns:
        constitutional = is_constitutional(kind, fact.authority, path)
        last = fact.last_consumed_at
        record = AnchorRecord(
            kind=kind,
            exposures=int(shown),
            consumed=consumed,
            days_since_consumed=None if last is None else (as_of - last).total_seconds() / 86400.0,
            days_since_indexed=fact.days_since_indexed,
            constitutional=constitutional,
        )
        spec = spec_prior(record, means.get(kind))
        found.append(
            AnchorPrior(
                anchor=anchor,
                doc_kind=kind,
                as_of=as_of,
                run_id=run,
                exposures=record.exposures,
                consumptions=consumed,
                last_consumed_at=last,
                spec=spec,
                calibrated=_guarded(calibrated, grace=spec.branch == "grace", constitutional=constitutional),
            )
        )
    return found


def kind_means(
    kinds: Sequence[str], lists: Floats, credit: Floats, constants: SpecConstants = SPEC
) -> dict[str, float]:
    """Return the mean shrunk consumption rate of each kind, weighted by exposure.

    The rates are shrunk as the anchors' own are: a shrunk rate against a raw mean would lift every document that is
    shown and never opened. Weighted, so that one exposure of one document does not weigh as much as 500 of another.
    """
    position = {kind: index for index, kind in enumerate(dict.fromkeys(kinds))}
    of = np.array([position[kind] for kind in kinds], dtype=np.int64)
    shrunk = (credit + constants.alpha) / (lists + constants.alpha + constants.beta)
    total = np.bincount(of, lists, minlength=len(position))
    weighted = np.bincount(of, lists * shrunk, minlength=len(position))
    return {kind: float(weighted[index] / total[index]) for kind, index in position.items() if total[index] > 0}


def _rows(estimate: Calibrated) -> list[CalibratedPrior]:
    columns = (
        estimate.ratio,
        estimate.low,
        estimate.high,
        estimate.z,
        estimate.expected,
        estimate.observed,
        estimate.strength,
    )
    return [
        CalibratedPrior(ratio=ratio, low=low, high=high, z=z, expected=expected, observed=observed, strength=strength)
        for ratio, low, high, z, expected, observed, strength in zip(*(c.tolist() for c in columns), strict=True)
    ]


def _guarded(prior: CalibratedPrior, *, grace: bool, constitutional: bool) -> CalibratedPrior:
    z = 0.0 if grace else max(0.0, prior.z) if constitutional else prior.z
    if z == prior.z:
        return prior
    return msgspec.structs.replace(prior, z=z)
