"""What was read and then used, and how evenly agents fare with the same questions."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from streams import codec
from streams.clock import FixedClock
from streams.testing import LocalLog
from streams.topics import TOOL_EVENTS
from tests.warehouse.builders import T0, a_call, a_consumption, a_recall, a_warehouse, emit_recalls, land
from warehouse import effort
from warehouse.store import Warehouse
from warehouse.values import State


def test_a_document_is_used_when_what_is_written_names_it_as_a_word_or_by_path(tmp_path: Path) -> None:
    consumed = tuple(a_consumption(rank, anchor) for rank, anchor in enumerate(["F1", "F10", "F3"], start=1))
    write = a_call("e1", tool="Edit", invocation_id="inv-r1", input={"new_string": "as F10 says; see docs/F3.md"})
    reading = a_call("e2", tool="Bash", invocation_id="inv-r1", input={"command": "cat docs/F1.md"})

    async def fill() -> None:
        log = LocalLog(clock=FixedClock(T0))
        await emit_recalls(log, [a_recall("r1", consumed=consumed), a_recall("r2", consumed=(a_consumption(1),))])
        await log.emitter().emit(TOOL_EVENTS.name, key="s1", value=codec.encode([write, reading]))
        await land(log, tmp_path)

    asyncio.run(fill())
    [value] = Warehouse(tmp_path).measures(T0, 30, names=["consumed_but_not_used_rate"])

    assert value.n == 3  # r2's invocation wrote nothing, so nothing can be said of it
    assert value.value == pytest.approx(1 / 3)  # F1 is not F10, and reading it is not using it


def test_effort_is_compared_between_agents_of_like_questions_only(tmp_path: Path) -> None:
    def asked(name: str, agent: str, query: str, times: int) -> list[str]:
        return [f"{name}/{agent}/{query}/{n < times - 1}" for n in range(times)]

    spoken = [
        *asked("i1", "ada", "anchor priors published", 1),
        *asked("i2", "bob", "published anchor priors", 3),
        *asked("i3", "ada", "kiln glaze temperature", 9),
    ]
    recalls = [
        a_recall(f"r{n}", invocation_id=name, agent_id=agent, query=query, reformulated=again == "True")
        for n, (name, agent, query, again) in enumerate(line.split("/") for line in spoken)
    ]

    [value] = a_warehouse(tmp_path, recalls).measures(T0, 30, names=["cross_agent_effort_variance"])

    assert value.n == 1
    assert value.value == pytest.approx(1.0)  # 0 and 2 reformulations; the lonely question does not count


def test_effort_of_one_agent_alone_is_not_measured(tmp_path: Path) -> None:
    [value] = a_warehouse(tmp_path, [a_recall()]).measures(T0, 30, names=["cross_agent_effort_variance"])

    assert (value.state, value.value) == (State.NOT_MEASURED, None)


def test_like_queries_share_a_group_whatever_their_order_and_writing() -> None:
    queries = ["Anchor priors", "priors, anchor!", "锚点先验", "先验 锚点", "something else"]

    groups = effort.clusters(queries)

    assert groups["Anchor priors"] == groups["priors, anchor!"]
    assert groups["锚点先验"] == groups["先验 锚点"]
    assert len(set(groups.values())) == 3
    assert effort.clusters(reversed(queries)) == groups
