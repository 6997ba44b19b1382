"""An edge grows with the walks of the last month, and only with walks."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from ranking.edges import edge_weight
from ranking.job import compute_priors, read_walks
from streams.recall import RecallEvent, Walked
from tests.warehouse.builders import T0, a_candidate, a_consumption, a_recall, a_warehouse

AS_OF = T0 + timedelta(days=1)


def at(second: int) -> datetime:
    return T0 + timedelta(seconds=second)


def a_step(second: int, *opened: tuple[str, int], invocation: str = "i", **fields: object) -> RecallEvent:
    defaults = {
        "tool": "graph_resolve",
        "occurred_at": at(second),
        "invocation_id": invocation,
        "candidates": (a_candidate(1, "A"), a_candidate(2, "B")),
        "consumed": tuple(a_consumption(1, anchor, consumed_at=at(when)) for anchor, when in opened),
    }
    return a_recall(f"{invocation}-{second}", **defaults | fields)


def walked(folder: Path, steps: list[RecallEvent], as_of: datetime = AS_OF) -> list[tuple[str, str, datetime]]:
    ways = read_walks(a_warehouse(folder, steps), as_of)
    return [(source, way.target, way.at) for source, found in ways.items() for way in found]


def test_walks_add_to_the_base_and_fade_since_the_last() -> None:
    assert edge_weight("wikilink", []) == 1.0
    assert edge_weight("wikilink", [30.0, 10.0]) == pytest.approx(1.0 + 0.05 * 2 * 30 / 40)
    assert edge_weight("doc_link", [31.0]) == 0.9


def test_opening_a_then_stepping_to_b_and_opening_it_is_a_walk(tmp_path: Path) -> None:
    assert walked(tmp_path, [a_step(0, ("A", 10)), a_step(20, ("B", 30))]) == [("A", "B", at(30))]


@pytest.mark.parametrize(
    "steps",
    [
        [a_step(0, ("A", 10), ("B", 12))],
        [a_step(0, ("A", 10)), a_step(20)],
        [a_step(0, ("A", 25)), a_step(20, ("B", 22))],
        [a_step(0, ("A", 10)), a_step(20, ("B", 30), tool="search_evidence")],
        [a_step(0, ("A", 10)), a_step(20, ("B", 30), invocation="j")],
        [a_step(0, ("A", 10)), a_step(20, ("A", 30))],
        [a_step(0, ("A", 10)), a_step(20, ("B", 30), runtime="mcp")],
    ],
    ids=[
        "one sub-graph",
        "B not opened",
        "A opened later",
        "no graph step",
        "another invocation",
        "the same document",
        "told by the server",
    ],
)
def test_anything_less_is_no_walk(tmp_path: Path, steps: list[RecallEvent]) -> None:
    assert walked(tmp_path, steps) == []


def test_a_walk_counts_once_an_invocation_whatever_the_order_of_the_searches(tmp_path: Path) -> None:
    steps = [a_step(0, ("A", 10)), a_step(20, ("B", 30)), a_step(40, ("A", 50)), a_step(60, ("B", 70))]

    found = walked(tmp_path / "forward", steps)

    assert found == walked(tmp_path / "back", steps[::-1])
    assert found == [("A", "B", at(30)), ("B", "A", at(50))]


def test_only_the_last_thirty_days_are_walked(tmp_path: Path) -> None:
    steps = [a_step(0, ("A", 10)), a_step(20, ("B", 30))]

    assert walked(tmp_path / "inside", steps, at(0) + timedelta(days=30)) == [("A", "B", at(30))]
    assert walked(tmp_path / "outside", steps, at(21) + timedelta(days=30)) == []


def test_the_prior_of_a_document_carries_the_walks_that_begin_at_it(tmp_path: Path) -> None:
    steps = [step for n in "ij" for step in (a_step(0, ("A", 10), invocation=n), a_step(20, ("B", 30), invocation=n))]

    priors = {prior.anchor: prior for prior in compute_priors(a_warehouse(tmp_path, steps), AS_OF)}

    assert priors["A"].walked == (Walked("B", at(30)), Walked("B", at(30)))
    assert priors["B"].walked == ()
