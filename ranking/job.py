"""The prior job: exposures out of the warehouse, priors by both estimators."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from ranking import calibrated, edges, priors
from ranking.anchors import AnchorFacts, priors_of
from ranking.evidence import Search
from ranking.exposures import Exposures, from_table
from streams.recall import AnchorPrior, Walked
from warehouse.store import Warehouse

_SQL = Path(__file__).parent / "sql"


def compute_priors(warehouse: Warehouse, as_of: datetime) -> list[AnchorPrior]:
    """Return the prior of every anchor that memory searches showed in the 180 days before `as_of`, by anchor."""
    found = priors_of(read_exposures(warehouse, as_of), read_facts(warehouse, as_of), as_of)
    ways = read_walks(warehouse, as_of)
    return [replace(prior, walked=ways[prior.anchor]) if prior.anchor in ways else prior for prior in found]


def read_exposures(warehouse: Warehouse, as_of: datetime) -> Exposures:
    """Return the exposures of the 180 days before `as_of`, one an anchor and invocation, by anchor."""
    parameters = {"asof": as_of, "days": calibrated.WINDOW_DAYS, "window": priors.WINDOW_DAYS}
    with warehouse.connect() as connection:
        return from_table(connection.sql(_query("exposures"), params=parameters).to_arrow_table())


def read_facts(warehouse: Warehouse, as_of: datetime) -> dict[str, AnchorFacts]:
    """Return what is known of each indexed or ever consumed anchor."""
    with warehouse.connect() as connection:
        rows = connection.execute(_query("anchors"), {"asof": as_of}).fetchall()
    return {
        anchor: AnchorFacts(
            kind=kind, authority=authority, path=path, days_since_indexed=indexed, last_consumed_at=consumed
        )
        for anchor, kind, authority, path, indexed, consumed in rows
    }


def read_walks(warehouse: Warehouse, as_of: datetime) -> dict[str, tuple[Walked, ...]]:
    """Return the walks through the graph in the 30 days before `as_of`, by the document that they begin at."""
    opened: dict[str, list[edges.Opened]] = defaultdict(list)
    for row in warehouse.sql(_query("walked"), {"asof": as_of, "days": edges.WINDOW_DAYS}):
        opened[row["invocation_id"]].append(edges.Opened(row["at"], row["anchor"], row["stepped_at"]))
    return edges.walks(opened)


def read_searches(warehouse: Warehouse, since: datetime, until: datetime) -> list[Search]:
    """Return the memory searches after `since` up to `until` whose outcome is known and final, by time."""
    return [Search(**row) for row in warehouse.sql(_query("searches"), {"since": since, "until": until})]


def first_draft(warehouse: Warehouse, ranker_id: str) -> datetime | None:
    """Return when a search first showed a draft of this ranker's order; None when none did."""
    found: datetime | None = warehouse.sql(_query("first_draft"), {"ranker": ranker_id})[0]["at"]
    return found


def _query(name: str) -> str:
    return (_SQL / f"{name}.sql").read_text(encoding="utf-8")
