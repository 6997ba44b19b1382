"""Each measure's SQL against its plain loop, on generated searches of many shapes; and the shape of the answers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.recall import RecallEvent
from tests.warehouse import generate
from tests.warehouse.builders import T0, a_consumption, a_recall, a_warehouse
from tests.warehouse.reference import MEASURES, in_scope
from warehouse import measures, publisher
from warehouse.store import Warehouse
from warehouse.values import State

AS_OF = T0 + timedelta(days=11)


@pytest.fixture(scope="module")
def recalls() -> list[RecallEvent]:
    return generate.recalls(1500, seed=7)


@pytest.fixture(scope="module")
def warehouse(recalls: list[RecallEvent], tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return a_warehouse(tmp_path_factory.mktemp("generated"), recalls)


def agree(warehouse: Warehouse, recalls: list[RecallEvent], **asked: Any) -> None:
    found = {value.name: value for value in warehouse.measures(AS_OF, 30, names=list(MEASURES), **asked)}
    scope = in_scope(recalls, **asked)
    for name, reference in MEASURES.items():
        searches = in_scope(recalls, **{**asked, "base": "known"}) if name == "zero_hit_rate" else scope
        value, n = reference(searches)
        assert found[name].n == n, name
        assert found[name].value == pytest.approx(value), name


@pytest.mark.parametrize("base", ["known", "exposed"])
@pytest.mark.parametrize("credit", ["all", "clean"])
@pytest.mark.parametrize("surface", ["memory", "code_search", None])
def test_every_measure_equals_its_loop(
    warehouse: Warehouse, recalls: list[RecallEvent], base: str, credit: str, surface: str | None
) -> None:
    agree(warehouse, recalls, base=base, credit=credit, surface=surface)


SLICES: dict[str, Callable[[RecallEvent], str]] = {
    "agent": lambda r: r.agent_id,
    "runtime": lambda r: r.runtime,
    "tool": lambda r: r.tool,
    "surface": lambda r: r.surface,
    "mode": lambda r: r.mode or "unknown",
    "scope": lambda r: r.scope or "unknown",
    "ranker": lambda r: r.ranker_mode or "unknown",
    "status": lambda r: r.result_status.value,
    "query_length": lambda r: ["1-20 characters", "21-60 characters", "over 60 characters"][
        (len(r.query) > 20) + (len(r.query) > 60)
    ],
    "day": lambda r: f"{r.occurred_at:%Y-%m-%d}",
    "week": lambda r: f"{r.occurred_at:%G-W%V}",
}


@pytest.mark.parametrize("slice_by", SLICES)
def test_a_slice_holds_the_figure_of_its_searches_alone(
    warehouse: Warehouse, recalls: list[RecallEvent], slice_by: str
) -> None:
    names = [name for name in MEASURES if name != "zero_hit_rate"]
    scope = in_scope(recalls)

    found = {(v.name, v.slice): v for v in warehouse.measures(AS_OF, 30, slice_by=slice_by, names=names)}

    for slice_ in {SLICES[slice_by](recall) for recall in scope}:
        searches = [recall for recall in scope if SLICES[slice_by](recall) == slice_]
        for name in names:
            value, n = MEASURES[name](searches)
            assert found[name, slice_].n == n, (name, slice_)
            assert found[name, slice_].value == pytest.approx(value), (name, slice_)


def test_every_slice_that_can_be_asked_is_checked_against_the_loops() -> None:
    assert {"all", *SLICES} == set(measures.SLICES)


@settings(max_examples=5, deadline=None)
@given(size=st.integers(0, 60), seed=st.integers(0, 2**32))
def test_measures_of_any_searches_equal_their_loops_and_stay_in_bounds(size: int, seed: int) -> None:
    searches = generate.recalls(size, seed)

    with tempfile.TemporaryDirectory() as folder:
        warehouse = a_warehouse(Path(folder), searches)
        agree(warehouse, searches)
        values = warehouse.measures(AS_OF, 30)

    for value in values:
        assert value.low is None or value.high is None or value.low <= value.high
        if value.unit == "share" and value.value is not None:
            assert 0 <= value.value <= 1
            assert value.low is None or value.low - 1e-9 <= value.value


def test_macros_of_the_catalog_give_the_same_figures(warehouse: Warehouse) -> None:
    by_name: dict[str, dict[str, tuple[float | None, int]]] = {}
    for value in warehouse.measures(AS_OF, 30, slice_by="tool"):
        by_name.setdefault(value.name, {})[value.slice] = (value.value, value.n)
    del by_name["cross_agent_effort_variance"]  # has no macro

    with warehouse.connect() as connection:
        for name, figures in by_name.items():
            query = f"SELECT slice, value, n FROM {name}($asof::TIMESTAMPTZ, slice_by := 'tool')"
            for slice_, value_, n in connection.execute(query, {"asof": AS_OF}).fetchall():
                assert value_ == pytest.approx(figures[slice_][0]), name
                assert n == figures[slice_][1], name


def test_the_window_has_both_ends(tmp_path: Path) -> None:
    ages = {"now": 0, "edge": 30, "out": 31, "future": -1}
    searches = [a_recall(name, occurred_at=T0 - timedelta(days=age)) for name, age in ages.items()]

    [value] = a_warehouse(tmp_path, searches).measures(T0, 30, names=["consumed_at_1"])

    assert value.n == 2


def test_a_figure_without_a_denominator_is_not_measured_and_says_why(tmp_path: Path) -> None:
    warehouse = a_warehouse(tmp_path, [a_recall(occurred_at=T0)])

    values = {value.name: value for value in warehouse.measures(T0, 30)}

    graph, mrr = values["graph_traversal_completion"], values["consumed_mrr"]
    assert (graph.state, graph.value, graph.reason) == (State.NOT_MEASURED, None, "no graph searches in scope")
    assert (mrr.value, mrr.n) == (0, 1)


def test_a_true_zero_a_value_and_a_stale_figure_are_told_apart(tmp_path: Path) -> None:
    warehouse = a_warehouse(tmp_path, [a_recall("r1"), a_recall("r2", consumed=(a_consumption(1),))])
    landed = warehouse.sql("SELECT max(_logged_at) AS at FROM recall_events")[0]["at"]
    fresh = {v.name: v for v in warehouse.measures(landed, 3650, surface="memory")}
    assert fresh["consumed_at_1"].n == 0  # the log's clock stands before the searches

    late = {v.name: v for v in warehouse.measures(T0 + timedelta(days=2), 30)}

    assert late["consumed_at_1"].state is State.STALE
    assert late["consumed_at_1"].value == 0.5
    assert late["consumed_at_1"].age == T0 + timedelta(days=2) - landed


def test_an_empty_warehouse_measures_nothing(tmp_path: Path) -> None:
    values = Warehouse(tmp_path).measures(T0, 30)

    assert {value.state for value in values} == {State.NOT_MEASURED}
    assert {value.reason for value in values} == {"no search has landed yet"}


def test_an_unknown_slice_base_credit_or_measure_is_refused(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path)

    for asked in ({"slice_by": "moon"}, {"base": "all"}, {"credit": "half"}, {"names": ["nonsense"]}):
        with pytest.raises(ValueError, match="expected"):
            warehouse.measures(T0, 30, **asked)


def test_every_measure_has_a_reference_or_a_test_of_its_own() -> None:
    own = {"cross_agent_effort_variance", "consumed_but_not_used_rate"}
    statuses = {measure.name for measure in publisher.load_measures() if measure.name.startswith("result_status_")}

    assert {measure.name for measure in publisher.load_measures()} == set(MEASURES) | own | statuses


def test_the_outcome_states_share_all_searches(warehouse: Warehouse, recalls: list[RecallEvent]) -> None:
    values = [v for v in warehouse.measures(AS_OF, 30, surface=None) if v.name.startswith("result_status_")]

    assert sum(value.value or 0 for value in values) == pytest.approx(1)
    assert {value.n for value in values} == {len({recall.recall_id for recall in recalls})}


def test_a_search_that_only_the_memory_server_reported_counts_in_no_measure_unless_asked_for(tmp_path: Path) -> None:
    searches = [a_recall("r1", consumed=(a_consumption(1),)), a_recall("r2", runtime="mcp")]
    warehouse = a_warehouse(tmp_path, searches)

    [usual] = warehouse.measures(T0, 30, names=["consumed_at_1"])
    [asked] = warehouse.measures(T0, 30, names=["consumed_at_1"], runtime="mcp")

    assert (usual.value, usual.n) == (1.0, 1)
    assert (asked.value, asked.n) == (0.0, 1)
    assert {anchor.exposures for anchor in warehouse.anchors(T0)} == {1}
    assert {exposure.recall_id for exposure in warehouse.anchor_exposures(T0)} == {"r1"}
    assert len(warehouse.recall_events()) == 2
