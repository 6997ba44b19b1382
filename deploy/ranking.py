"""How searches of a data folder may rank: the settings, held to what the gate has said."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from deploy.settings import Settings
from ranking.evidence import gather
from ranking.fixtures import failed_fixtures
from ranking.gate import GateReport, judge
from ranking.job import first_draft, read_searches
from ranking.rerank import RerankSettings, ranker_id
from ranking.store import GateRecord
from ranking.switch import allowed, standing
from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class RankingMode:
    """The mode to search in; `note` says why it is not the one that the settings ask for, or that it is overridden."""

    mode: Literal["off", "shadow", "on"]
    note: str


def weights(settings: Settings) -> RerankSettings:
    """Return the reranker's weights and bounds under the settings."""
    return RerankSettings(mode=settings.rerank, estimator=settings.estimator)


def ranking_mode(settings: Settings) -> RankingMode:
    """Return the mode that searches use: `on` only with the gate's verdict or a recorded override."""
    record = GateRecord(settings.ranking_dir)
    mode, note = allowed(settings.rerank, ranker_id(weights(settings)), record.report(), record.override())
    return RankingMode(mode, note)


def judged(settings: Settings, at: datetime, *, days: int = 90) -> GateReport:
    """Judge the ranker of the settings as of an instant and remember the verdict: a `ROLLBACK` counts at once.

    Searches of the `days` before count, and of the `days` before agents first saw the ranker's order: what it is
    compared with. So no vote is ever forgotten, without which daily looks would not be allowed.
    """
    ranker, record, warehouse = weights(settings), GateRecord(settings.ranking_dir), Warehouse(settings.data_dir)
    on_since, fell_at = standing(ranker_id(ranker), record.report(), record.override())
    seen = min(on_since or at, first_draft(warehouse, ranker_id(ranker)) or at, at)
    evidence = gather(
        read_searches(warehouse, seen - timedelta(days=days), at),
        ranker_id=ranker_id(ranker),
        now=at,
        fixtures_failed=failed_fixtures(ranker),
        on_since=on_since,
        fell_at=fell_at,
    )
    report = judge(evidence, ranker_id=ranker_id(ranker))
    record.remember(report)
    return report


def request_fields(settings: Settings) -> dict[str, Any]:
    """Return the fields of a search request that ranking decides; interleaving needs at least shadow."""
    mode = ranking_mode(settings).mode
    return {
        "rerank": "shadow" if settings.interleave and mode == "off" else mode,
        "estimator": settings.estimator,
        "interleave": settings.interleave,
        "explore": settings.explore,
    }
