"""The specification's regression fixtures, run on the real reranker: what no weights may break.

Source: F200 "Regression Fixture" (1) and (2), and condition 3 of the gate.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from ranking.priors import AnchorRecord, spec_prior
from ranking.rerank import RankItem, RerankSettings, rerank
from streams.recall import AnchorPrior, CalibratedPrior

_AT = datetime(2026, 1, 1, tzinfo=UTC)
_POOL = "abcdef"


def failed_fixtures(settings: RerankSettings) -> tuple[str, ...]:
    """Return the names of the fixtures that a ranker with these settings breaks; none for a sound one."""
    found = {
        "a high-consumption anchor must not be demoted": _rank(settings, "c", _record(exposures=40, consumed=30)) <= 3,
        "a constitutional anchor must not sink for want of reading": _rank(
            settings, "a", _record(exposures=200, consumed=0, constitutional=True), authority="constitutional"
        )
        == 1,
        "a constitutional anchor must not sink below a popular neighbour": _rank(
            settings, "b", _record(exposures=40, consumed=35), authority="constitutional", of="a"
        )
        == 1,
        "a single reading must not lift": _rank(settings, "f", _record(exposures=8, consumed=1)) == 6,
    }
    return tuple(name for name, holds in found.items() if not holds)


def _record(*, exposures: int, consumed: int, constitutional: bool = False) -> AnchorRecord:
    return AnchorRecord(
        kind="feature",
        exposures=exposures,
        consumed=consumed,
        days_since_consumed=1.0 if consumed else None,
        constitutional=constitutional,
    )


def _rank(
    settings: RerankSettings, anchor: str, record: AnchorRecord, *, authority: str = "observed", of: str | None = None
) -> int:
    """Return the rank of `of` (or the anchor) in a pool of equals where `anchor` has this record."""
    ruled = of or anchor
    pool = [
        RankItem(
            anchor=name,
            doc_kind="feature",
            base_score=1 / (60 + rank),
            base_rank=rank,
            authority=authority if name == ruled else "observed",
            updated_at=_AT,
        )
        for rank, name in enumerate(_POOL, start=1)
    ]
    found = rerank(pool, {anchor: _prior(anchor, record)}, now=_AT, settings=_on(settings), limit=6)
    return found.shown.index(ruled) + 1


def _on(settings: RerankSettings) -> RerankSettings:
    return replace(settings, mode="on")


def _prior(anchor: str, record: AnchorRecord) -> AnchorPrior:
    rate = record.consumed / record.exposures
    z = 0.5 if rate > 0.1 else -0.5 if rate < 0.05 and not record.constitutional else 0.0
    return AnchorPrior(
        anchor=anchor,
        doc_kind=record.kind,
        as_of=_AT,
        run_id="fixture",
        exposures=record.exposures,
        consumptions=record.consumed,
        spec=spec_prior(record, 0.05),
        calibrated=CalibratedPrior(ratio=1.0, low=1.0, high=1.0, z=z, expected=1.0, observed=1.0, strength=10.0),
    )
