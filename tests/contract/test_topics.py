"""What brokers make of topics: created with their configs, never changed, compacted where the broker compacts."""

from __future__ import annotations

import asyncio
import time

import pytest

from streams.client import Connection, create_topics, ensure_topics, found_topics, lag, log_id
from streams.emitter import KafkaEmitter
from streams.log import Partition
from streams.store import KafkaJournal, KafkaTable
from streams.topics import TopicSpec, differences, specs

BROKERS = [pytest.param("embedded", marks=pytest.mark.broker), pytest.param("kafka", marks=pytest.mark.kafka)]


@pytest.fixture(params=BROKERS)
def broker(request: pytest.FixtureRequest) -> Connection:
    connection: Connection = request.getfixturevalue(request.param)
    return connection


def test_topics_are_created_as_the_catalogue_says_and_only_once(broker: Connection) -> None:
    async def scenario() -> tuple[list[str], list[str]]:
        await ensure_topics(broker)
        again = await ensure_topics(broker)
        return again, differences(specs(), await found_topics(broker, [spec.name for spec in specs()]))

    assert asyncio.run(scenario()) == ([], [])


def test_an_existing_topic_is_not_changed_and_its_differences_are_named(broker: Connection) -> None:
    there = TopicSpec(name="differs.v1", partitions=1, configs={"cleanup.policy": "delete"})
    wanted = TopicSpec(name="differs.v1", partitions=2, configs={"cleanup.policy": "compact"})
    missing = TopicSpec(name="absent.v1", partitions=2, configs={})

    async def scenario() -> list[str]:
        await create_topics(broker, [there])
        assert await create_topics(broker, [wanted]) == []
        return differences([wanted, missing], await found_topics(broker, ["differs.v1", "absent.v1"]))

    assert asyncio.run(scenario()) == [
        "differs.v1: expected 2 partitions, got 1",
        "differs.v1: expected cleanup.policy=compact, got delete",
        "absent.v1: missing, expected 2 partitions",
    ]


def test_lag_counts_what_a_group_has_not_committed_from_the_true_end(broker: Connection) -> None:
    async def scenario() -> dict[Partition, int]:
        await create_topics(broker, [TopicSpec(name="lagging.v1", partitions=1, configs={})])
        async with KafkaEmitter(broker) as emitter:
            await emitter.emit_all("lagging.v1", [("k", b"x")] * 30)
        return await lag(broker, "nobody", ["lagging.v1"])

    assert asyncio.run(scenario()) == {Partition("lagging.v1", 0): 30}


def test_a_log_keeps_its_id(broker: Connection) -> None:
    assert asyncio.run(log_id(broker)) == asyncio.run(log_id(broker)) != ""


def test_a_journal_keeps_the_newest_entry_of_each_partition_and_reads_records_again(broker: Connection) -> None:
    async def scenario() -> tuple[dict[str, bytes], dict[str, bytes], list[bytes | None]]:
        await create_topics(broker, [TopicSpec(name="journal.v1", partitions=2, configs={})])
        async with KafkaJournal(broker, "journal.v1") as journal:
            await journal.put(0, {"a": b"1", "b": b"1"})
            await journal.put(0, {"a": b"2", "b": None})
            await journal.put(1, {"a": b"other"})
            again = await journal.history(Partition("journal.v1", 0), 1, 2)
            return await journal.entries(0), await journal.entries(1), [record.value for record in again]

    assert asyncio.run(scenario()) == ({"a": b"2"}, {"a": b"other"}, [b"1", b"2"])


def test_a_table_holds_what_stood_on_the_topic_and_follows_it(broker: Connection) -> None:
    async def scenario() -> tuple[dict[str, bytes], dict[str, bytes]]:
        await create_topics(broker, [TopicSpec(name="table.v1", partitions=2, configs={})])
        async with KafkaEmitter(broker) as emitter:
            await emitter.emit_all("table.v1", [("a", b"1"), ("b", b"1"), ("a", b"2")])
            async with KafkaTable(broker, "table.v1") as table:
                first = dict(table.values)
                await emitter.emit("table.v1", key="b", value=None)
                deadline = time.monotonic() + 10
                while "b" in table.values and time.monotonic() < deadline:  # noqa: ASYNC110  # another process tells
                    await asyncio.sleep(0.02)
                return first, table.values

    assert asyncio.run(scenario()) == ({"a": b"2", "b": b"1"}, {"a": b"2"})


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("kafka", marks=pytest.mark.kafka),
        pytest.param(
            "embedded",
            marks=[
                pytest.mark.broker,
                pytest.mark.xfail(strict=True, reason="the embedded broker takes cleanup.policy and never compacts"),
            ],
        ),
    ],
)
def test_a_compacted_topic_keeps_the_newest_value_of_a_key_alone(name: str, request: pytest.FixtureRequest) -> None:
    broker: Connection = request.getfixturevalue(name)
    configs = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.01",
        "segment.ms": "100",
        "max.compaction.lag.ms": "200",
    }

    async def scenario() -> int:
        await create_topics(broker, [TopicSpec(name="compacted.v1", partitions=1, configs=configs)])
        deadline = time.monotonic() + (20 if name == "kafka" else 3)
        left = 100
        async with KafkaEmitter(broker) as emitter, KafkaJournal(broker, "compacted.v1") as journal:
            await emitter.emit_all("compacted.v1", [(f"k{n % 5}", b"%d" % n) for n in range(100)])
            while left > 20 and time.monotonic() < deadline:
                await asyncio.sleep(0.5)
                await emitter.emit(
                    "compacted.v1", key="tick", value=b"t"
                )  # rolls the segment, so that it can be cleaned
                left = sum(r.key != b"tick" for r in await journal.history(Partition("compacted.v1", 0), 0, 10_000))
        return left

    assert asyncio.run(scenario()) == 5
