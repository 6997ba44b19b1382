"""Builders for ranking tests: every field has a default."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ranking.rerank import RankItem
from streams.recall import AnchorPrior, CalibratedPrior, SpecPrior

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def an_item(anchor: str, rank: int = 1, **changes: object) -> RankItem:
    fields: dict[str, object] = {
        "anchor": anchor,
        "doc_kind": "feature",
        "base_score": 1 / (60 + rank),
        "base_rank": rank,
        "updated_at": NOW - timedelta(days=30),
    }
    return RankItem(**(fields | changes))  # type: ignore[arg-type]  # a builder passes what the test names


def a_pool(*anchors: str, **changes: object) -> list[RankItem]:
    return [an_item(anchor, rank, **changes) for rank, anchor in enumerate(anchors, start=1)]


def a_prior(
    anchor: str, prior: float = 0.3, *, branch: str = "full", consumptions: float = 10, z: float | None = None
) -> AnchorPrior:
    calibrated = (
        None
        if z is None
        else CalibratedPrior(ratio=1.5, low=1.1, high=2.0, z=z, expected=5.0, observed=10.0, strength=10.0)
    )
    return AnchorPrior(
        anchor=anchor,
        doc_kind="feature",
        as_of=NOW,
        run_id="run",
        exposures=40,
        consumptions=consumptions,
        spec=SpecPrior(prior=prior, branch=branch, shrunk_ctr=0.2, mean_ctr_kind=0.1, recency_factor=1.0),  # type: ignore[arg-type]  # tests name the branch as text
        calibrated=calibrated,
    )
