"""The counts of an anchor equal a plain loop over the searches, whatever instant cuts the first and the last day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from streams.recall import RecallEvent
from tests.warehouse import generate
from tests.warehouse.builders import T0, a_candidate, a_consumption, a_recall, a_warehouse
from tests.warehouse.reference import in_scope
from warehouse.job import Compactor
from warehouse.storage.store import LocalStorage
from warehouse.store import Warehouse

DAYS = 4
INSTANTS = (
    T0 + timedelta(days=6, hours=5, seconds=7),
    (T0 + timedelta(days=7)).replace(hour=0, minute=0),
    (T0 + timedelta(days=7)).replace(hour=23, minute=59, second=59),
)


@pytest.fixture(scope="module")
def recalls() -> list[RecallEvent]:
    return generate.recalls(600, seed=5)


@pytest.fixture(scope="module", params=["landed", "compacted"])
def warehouse(
    request: pytest.FixtureRequest, recalls: list[RecallEvent], tmp_path_factory: pytest.TempPathFactory
) -> Warehouse:
    root = tmp_path_factory.mktemp("anchors")
    warehouse = a_warehouse(root, recalls)
    if request.param == "compacted":
        Compactor(LocalStorage(root / "tables"), root).run(T0 + timedelta(days=20))
    return warehouse


def opened(recall: RecallEvent, anchor: str) -> bool:
    """Tell whether a search's best place of an anchor was consumed: by its rank, or by the anchor at another one."""
    return any(c.rank is not None and c.anchor == anchor for c in recall.consumed)


def loop(recalls: Sequence[RecallEvent], at: datetime) -> dict[str, tuple[int, int, datetime]]:
    """Return exposures, consumptions and the first exposure ever of each anchor."""
    shown: Counter[str] = Counter()
    consumed: Counter[str] = Counter()
    first: dict[str, datetime] = {}
    for recall in in_scope(recalls):
        if recall.occurred_at <= at:
            for anchor in {candidate.anchor for candidate in recall.candidates}:
                first[anchor] = min(first.get(anchor, recall.occurred_at), recall.occurred_at)
                if recall.occurred_at >= at - timedelta(days=DAYS):
                    shown[anchor] += 1
                    consumed[anchor] += opened(recall, anchor)
    return {anchor: (shown[anchor], consumed[anchor], first[anchor]) for anchor in first}


@pytest.mark.parametrize("at", INSTANTS)
def test_counts_of_a_window_that_cuts_days_equal_the_loop(
    warehouse: Warehouse, recalls: list[RecallEvent], at: datetime
) -> None:
    expected = loop(recalls, at)

    found = warehouse.anchors(at, DAYS)

    counted = {a.anchor: (a.exposures, a.consumptions, a.first_shown_at) for a in found if a.first_shown_at is not None}
    assert counted == expected


def test_the_roll_up_has_the_ranks_from_which_figures_of_any_days_are_exact(warehouse: Warehouse) -> None:
    from_searches = """
        SELECT anchor, count(*) AS n, avg(rank) AS mean, count(*) FILTER (consumed AND rank <= 3) AS top
        FROM recall_candidate WHERE NOT repeated AND runtime <> 'mcp' GROUP BY anchor ORDER BY anchor
    """
    from_days = """
        SELECT
            anchor,
            sum(exposures)::BIGINT AS n,
            sum(list_sum([e.key * e.value::BIGINT FOR e IN map_entries(ranks)])) / sum(exposures) AS mean,
            coalesce(
                sum(list_sum([e.value::BIGINT FOR e IN map_entries(consumed_ranks) IF e.key <= 3])), 0
            )::BIGINT AS top
        FROM anchor_daily GROUP BY anchor ORDER BY anchor
    """

    assert warehouse.sql(from_days) == [
        {**row, "mean": pytest.approx(row["mean"])} for row in warehouse.sql(from_searches)
    ]


def test_an_anchor_that_only_the_memory_server_reported_is_not_in_the_roll_up(tmp_path: Path) -> None:
    searches = [
        a_recall("r1", consumed=(a_consumption(1),)),
        a_recall("r2", runtime="mcp", candidates=(a_candidate(9),)),
    ]

    rows = a_warehouse(tmp_path, searches).sql(
        "SELECT anchor, exposures FROM anchor_daily WHERE anchor IN ('F1', 'F9')"
    )

    assert rows == [{"anchor": "F1", "exposures": 1}]
