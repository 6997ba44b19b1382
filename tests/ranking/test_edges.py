"""An edge grows with the walks of the last month, and only with walks."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from ranking.edges import edge_weight, walks
from streams.recall import RecallEvent
from tests.warehouse.builders import T0, a_consumption, a_recall


def at(second: int) -> datetime:
    return T0 + timedelta(seconds=second)


def a_step(second: int, *opened: tuple[str, int], invocation: str = "i", tool: str = "graph_resolve") -> RecallEvent:
    return a_recall(
        f"{invocation}-{second}",
        tool=tool,
        occurred_at=at(second),
        invocation_id=invocation,
        consumed=tuple(a_consumption(1, anchor, consumed_at=at(when)) for anchor, when in opened),
    )


def test_walks_add_to_the_base_and_fade_since_the_last() -> None:
    assert edge_weight("wikilink", []) == 1.0
    assert edge_weight("wikilink", [30.0, 10.0]) == pytest.approx(1.0 + 0.05 * 2 * 30 / 40)
    assert edge_weight("doc_link", [31.0]) == 0.9


def test_opening_a_then_stepping_to_b_and_opening_it_is_a_walk() -> None:
    found = walks([a_step(0, ("A", 10)), a_step(20, ("B", 30))])

    assert [(walk.source, walk.target, walk.at) for walk in found] == [("A", "B", at(30))]


@pytest.mark.parametrize(
    "steps",
    [
        [a_step(0, ("A", 10), ("B", 12))],
        [a_step(0, ("A", 10)), a_step(20)],
        [a_step(0, ("A", 25)), a_step(20, ("B", 22))],
        [a_step(0, ("A", 10)), a_step(20, ("B", 30), tool="search_evidence")],
        [a_step(0, ("A", 10)), a_step(20, ("B", 30), invocation="j")],
        [a_step(0, ("A", 10)), a_step(20, ("A", 30))],
    ],
    ids=["one sub-graph", "B not opened", "A opened later", "no graph step", "another invocation", "the same document"],
)
def test_anything_less_is_no_walk(steps: list[RecallEvent]) -> None:
    assert walks(steps) == []


def test_a_walk_counts_once_an_invocation_whatever_the_order_of_the_searches() -> None:
    steps = [a_step(0, ("A", 10)), a_step(20, ("B", 30)), a_step(40, ("A", 50)), a_step(60, ("B", 70))]

    assert walks(steps) == walks(reversed(steps))
    assert [(walk.source, walk.target) for walk in walks(steps)] == [("A", "B"), ("B", "A")]
