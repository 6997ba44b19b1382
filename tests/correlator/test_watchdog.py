"""A partition that stands while there is work is told from one that is busy, idle, or held back for good reason."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from correlator.watchdog import Watch
from streams.log import Partition, Position

P = Partition("t", 0)
OTHER = Partition("t", 1)


def after(looks: Sequence[tuple[int, int]], owned: frozenset[Partition]) -> list[Partition]:
    watch = Watch(held_messages=100)
    for committed, end in looks:
        watch = watch.look({P: Position(committed, end)})
    return watch.stalled(owned)


@pytest.mark.parametrize(
    ("why", "looks"),
    [
        ("everything is committed", [(5, 5), (5, 5), (5, 5)]),
        ("it advances", [(5, 9), (6, 9), (7, 9)]),
        ("the log grows and an open invocation holds the commit", [(5, 9), (5, 20), (5, 50)]),
        ("it stood for one look only", [(5, 9), (5, 9)]),
        ("it stood, moved, and stands again for one look", [(5, 9), (5, 9), (6, 9), (6, 9)]),
    ],
)
def test_a_partition_that_is_worked_on_is_left_alone(why: str, looks: Sequence[tuple[int, int]]) -> None:
    assert after(looks, frozenset({P})) == [], why


@pytest.mark.parametrize(
    ("why", "looks"),
    [
        ("nothing new comes, so that nothing may hold the rest back", [(5, 9), (5, 9), (5, 9)]),
        ("more is held back than an owner may hold", [(5, 150), (5, 180), (5, 220)]),
    ],
)
def test_a_partition_that_stands_is_found(why: str, looks: Sequence[tuple[int, int]]) -> None:
    assert after(looks, frozenset({P})) == [P], why


def test_a_worker_answers_for_its_own_partitions_and_for_all_when_it_has_none() -> None:
    looks = [(5, 9)] * 3

    assert after(looks, frozenset()) == [P]
    assert after(looks, frozenset({OTHER})) == []


def test_a_partition_that_is_read_on_does_not_stand_although_nothing_is_committed() -> None:
    slow = stuck = Watch(held_messages=100)
    for look in range(4):
        now = {P: Position(5, 900 + look)}
        slow, stuck = slow.look(now, {P: 10 + look}), stuck.look(now, {P: 10})

    assert slow.stalled(frozenset({P})) == []
    assert stuck.stalled(frozenset({P})) == [P]
