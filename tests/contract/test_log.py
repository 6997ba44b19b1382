"""What every log promises, whoever keeps it."""

from __future__ import annotations

import asyncio

import pytest

from streams.errors import PartitionLost
from streams.log import Consumer, Partition
from streams.partitioner import partition_of
from streams.topics import MAX_MESSAGE_BYTES
from tests.contract.backends import Backend, read, values
from tests.contract.conftest import PARTITIONS


def test_messages_of_a_key_are_read_in_the_order_they_were_appended(backend: Backend, topic: str) -> None:
    async def scenario() -> list[bytes | None]:
        emitter, consumer = await backend.emitter(), await backend.consumer(topic, "g")
        await emitter.emit_all(topic, [(f"k{n % 3}", b"%d" % n) for n in range(300)])
        records = await read(consumer, 300)
        await emitter.close()
        await consumer.close()
        return values(record for record in records if record.key == b"k1")

    assert asyncio.run(scenario()) == [b"%d" % n for n in range(300) if n % 3 == 1]


def test_a_key_goes_to_the_partition_that_the_partitioner_says(backend: Backend, topic: str) -> None:
    keys = ["", "a", "ab", "session-7", "ünïcode 搜索", "x" * 401]

    async def scenario() -> list[int]:
        emitter = await backend.emitter()
        placed = [(await emitter.emit(topic, key=key, value=b"v"))[0] for key in keys]
        await emitter.close()
        return placed

    assert asyncio.run(scenario()) == [partition_of(key.encode(), PARTITIONS) for key in keys]


def test_emit_tells_where_the_message_stands(backend: Backend, topic: str) -> None:
    async def scenario() -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        emitter, consumer = await backend.emitter(), await backend.consumer(topic, "g")
        told = [await emitter.emit(topic, key="k", value=b"%d" % n) for n in range(3)]
        records = await read(consumer, 3)
        await emitter.close()
        await consumer.close()
        return told, [(record.partition, record.offset) for record in records]

    told, read_back = asyncio.run(scenario())

    assert told == read_back
    assert [offset for _, offset in told] == [0, 1, 2]


def test_headers_and_tombstones_survive(backend: Backend, topic: str) -> None:
    async def scenario() -> tuple[bytes | None, dict[str, bytes]]:
        emitter, consumer = await backend.emitter(), await backend.consumer(topic, "g")
        await emitter.emit(topic, key="k", value=None, headers={"why": b"gone"})
        [record] = await read(consumer, 1)
        await emitter.close()
        await consumer.close()
        return record.value, dict(record.headers)

    assert asyncio.run(scenario()) == (None, {"why": b"gone"})


def test_the_largest_message_passes(backend: Backend, topic: str) -> None:
    async def scenario() -> list[bytes | None]:
        emitter, consumer = await backend.emitter(), await backend.consumer(topic, "g")
        await emitter.emit(topic, key="k", value=b"x" * MAX_MESSAGE_BYTES)
        records = await read(consumer, 1)
        await emitter.close()
        await consumer.close()
        return values(records)

    assert asyncio.run(scenario()) == [b"x" * MAX_MESSAGE_BYTES]


def test_a_new_member_resumes_at_the_committed_offset(backend: Backend, topic: str) -> None:
    async def scenario() -> list[bytes | None]:
        emitter = await backend.emitter()
        await emitter.emit_all(topic, [("k", b"%d" % n) for n in range(10)])
        first = await backend.consumer(topic, "g")
        [fourth] = [record for record in await read(first, 10) if record.value == b"3"]
        await first.commit({Partition(topic, fourth.partition): fourth.offset + 1})
        await first.close()
        second = await backend.consumer(topic, "g")
        records = await read(second, 6)
        await emitter.close()
        await second.close()
        return values(records)

    assert asyncio.run(scenario()) == [b"%d" % n for n in range(4, 10)]


def test_two_groups_read_everything_each(backend: Backend, topic: str) -> None:
    async def scenario() -> list[int]:
        emitter = await backend.emitter()
        await emitter.emit_all(topic, [(f"k{n}", b"v") for n in range(20)])
        one, two = await backend.consumer(topic, "one"), await backend.consumer(topic, "two")
        counts = [len(await read(one, 20)), len(await read(two, 20))]
        for closable in (emitter, one, two):
            await closable.close()
        return counts

    assert asyncio.run(scenario()) == [20, 20]


def test_two_members_share_the_partitions_and_what_was_not_committed_comes_again(backend: Backend, topic: str) -> None:
    async def scenario() -> tuple[set[bytes | None], set[bytes | None], bool, frozenset[Partition]]:
        revoked: list[Partition] = []
        emitter = await backend.emitter()
        await emitter.emit_all(topic, [(f"k{n}", b"%d" % n) for n in range(40)])
        one = await backend.consumer(topic, "g", revoked.extend)
        before = await read(one, 40)
        two = await backend.consumer(topic, "g")
        after = await _read_both(one, two, 40)
        shared = one.assignment.isdisjoint(two.assignment) and bool(one.assignment) and bool(two.assignment)
        for closable in (emitter, one, two):
            await closable.close()
        return set(values(before)), after, shared, frozenset(revoked)

    before, after, shared, revoked = asyncio.run(scenario())

    assert before == after == {b"%d" % n for n in range(40)}
    assert shared
    assert revoked == {Partition(topic, n) for n in range(PARTITIONS)}


def test_a_member_cannot_commit_a_partition_that_it_lost(backend: Backend, topic: str) -> None:
    async def scenario() -> None:
        emitter = await backend.emitter()
        await emitter.emit_all(topic, [(f"k{n}", b"%d" % n) for n in range(40)])
        one = await backend.consumer(topic, "g")
        await read(one, 40)
        two = await backend.consumer(topic, "g")
        await _read_both(one, two, 40)
        lost = next(iter(two.assignment))
        try:
            await one.commit({lost: 1})
        finally:
            for closable in (emitter, one, two):
                await closable.close()

    with pytest.raises(PartitionLost, match="expected to own"):
        asyncio.run(scenario())


async def _read_both(one: Consumer, two: Consumer, count: int) -> set[bytes | None]:
    """Poll both members until both own partitions and `count` different values came since then."""
    seen: set[bytes | None] = set()
    for _ in range(400):
        for member in (one, two):
            seen |= set(values(await member.poll(timeout_s=0.05)))
        if len(seen) >= count and two.assignment and one.assignment:
            break
    return seen
