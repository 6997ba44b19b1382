"""What is said of finished work reaches its trajectory through the real worker, on the embedded broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from deploy.settings import Settings
from deploy.stack import CORRELATOR, Stack
from streams.codec import batches
from streams.consumer import KafkaConsumer
from streams.recall import TaskTrajectory
from streams.topics import MESSAGES, SIGNALS, TRAJECTORIES
from tests.correlator.local_worker import publish_to
from tests.correlator.test_signals import said, signalled
from tests.correlator.test_verdicts import events_of

pytestmark = pytest.mark.broker

POLLS = 120


async def until(consumer: KafkaConsumer, holds: Callable[[TaskTrajectory], bool]) -> TaskTrajectory:
    """Return the first revision that is as expected."""
    seen: list[TaskTrajectory] = []
    for _ in range(POLLS):
        for record in await consumer.poll(timeout_s=0.5):
            seen.append(msgspec.json.decode(record.value or b"", type=TaskTrajectory))
            if holds(seen[-1]):
                return seen[-1]
    raise AssertionError(f"no such revision among {seen}")


def test_a_merge_after_the_end_verifies_the_trajectory_and_a_refusal_does_not_unmerge_it(tmp_path: Path) -> None:
    async def scenario() -> tuple[TaskTrajectory, TaskTrajectory, TaskTrajectory]:
        async with (
            Stack(Settings(data=tmp_path), roles=(CORRELATOR,)) as stack,
            KafkaConsumer(stack.connection, [TRAJECTORIES.name], group="reader") as reader,
        ):
            await publish_to(stack.emitter, events_of(3))
            done = await until(reader, lambda each: each.phase == "final")
            for topic, event in ((SIGNALS, signalled("pr_merged", at_s=90)), (MESSAGES, said("reject", at_s=95))):
                for value in batches([event]):
                    await stack.emitter.emit(topic.name, key=event.thread_id, value=value)
            merged = await until(reader, lambda each: each.output_verified)
            refused = merged
            if len(merged.signals) < 3:
                refused = await until(reader, lambda each: len(each.signals) == 3)
            return done, merged, refused

    done, merged, refused = asyncio.run(scenario())

    assert not done.output_verified
    assert merged.revision > done.revision
    assert {each.signal for each in refused.signals} == {"invocation_succeeded", "pr_merged", "rejected"}
    assert refused.output_verified
