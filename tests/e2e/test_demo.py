"""The demo's figures are those that its plan says, search by search."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from deploy.demo import plan
from deploy.demo.run import Summary, run, shown_by
from deploy.demo.visits import ExpectedRecall, expected, schedule
from deploy.settings import Settings
from memory.store import SearchStore
from streams.clock import FixedClock
from streams.errors import ConfigError
from warehouse.store import Warehouse

pytestmark = pytest.mark.broker

AS_OF = datetime(2031, 6, 30, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "data"


@pytest.fixture(scope="module")
def summary(folder: Path) -> Summary:
    return asyncio.run(run(Settings(data=folder, flush_seconds=0.2), AS_OF))


def planned(folder: Path) -> list[ExpectedRecall]:
    with SearchStore.open(folder / "memory", clock=FixedClock(AS_OF)) as store:
        return expected(schedule(AS_OF), shown_by(store))


def measured(folder: Path) -> list[dict[str, Any]]:
    return Warehouse(folder).sql(
        "SELECT *, list_min([c.rank FOR c IN consumed]) AS best_rank FROM recall_events WHERE surface = 'memory'"
    )


def test_each_search_came_to_what_the_plan_says(folder: Path, summary: Summary) -> None:
    wanted = Counter(
        (w.at.date(), w.query, w.best_rank, w.reformulated, w.abandoned, w.zero_hit, w.fell_back_to_grep)
        for w in planned(folder)
    )

    found = Counter(_of(row) for row in measured(folder))

    assert found == wanted
    assert summary.searches == wanted.total()


def _of(row: dict[str, Any]) -> tuple[Any, ...]:
    names = ("dt", "query", "best_rank", "reformulated", "abandoned", "zero_hit", "fell_back_to_grep")
    return tuple(row[name] for name in names)


def test_the_measures_are_those_of_the_plan(folder: Path, summary: Summary) -> None:
    ranks = [recall.best_rank for recall in planned(folder)]
    figures = {value.name: value.value for value in summary.measures}

    assert figures["consumed_at_1"] == pytest.approx(sum(rank == 1 for rank in ranks) / len(ranks))
    assert figures["consumed_mrr"] == pytest.approx(sum(1 / rank for rank in ranks if rank) / len(ranks))


def test_what_agents_open_rises_and_what_they_pass_over_sinks(summary: Summary) -> None:
    moved = {place.anchor: (place.rank_before, place.rank) for place in summary.after}

    assert moved[plan.RISES][1] < moved[plan.RISES][0]
    assert moved[plan.SINKS][1] > moved[plan.SINKS][0]
    assert all(place.rank == place.rank_before for place in summary.before)


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")

    with pytest.raises(ConfigError, match="holds something else"):
        asyncio.run(run(Settings(data=tmp_path), AS_OF))

    assert (tmp_path / "thesis.txt").read_text(encoding="utf-8") == "years of work"
