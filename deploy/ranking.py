"""How searches of a data folder may rank: the settings, held to what the gate has said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from deploy.settings import Settings
from ranking.gate import allowed
from ranking.rerank import RerankSettings, ranker_id
from ranking.store import GateRecord


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


def request_fields(settings: Settings) -> dict[str, Any]:
    """Return the fields of a search request that ranking decides; interleaving needs at least shadow."""
    mode = ranking_mode(settings).mode
    return {
        "rerank": "shadow" if settings.interleave and mode == "off" else mode,
        "estimator": settings.estimator,
        "interleave": settings.interleave,
        "explore": settings.explore,
    }
