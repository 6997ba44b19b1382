"""Outside signals and chat turns reach the trajectories of their thread on the log, whatever comes first."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from correlator.offline import correlate
from correlator.signals import with_signals
from correlator.verdicts import Verdicts
from correlator.verifier import Verifier
from deploy.replay import Said, conclusions_of
from streams.codec import batches
from streams.events import MessagePosted, OutcomeSignalled, ToolEvent
from streams.recall import TaskTrajectory
from streams.testing import LocalLog
from streams.topics import MESSAGES, SIGNALS, TRAJECTORIES
from tests.correlator.builders import a_call, a_search, an_end
from tests.correlator.local_worker import LocalWorker, publish
from tests.correlator.test_signals import said, signalled

Outside = OutcomeSignalled | MessagePosted


def events_of(calls: int) -> list[ToolEvent]:
    """A search and edits on one thread, and the end."""
    events: list[ToolEvent] = [
        a_search("n/a.md"),
        *(a_call("Edit", {"file_path": "k.py"}, at_s=n, use=f"e{n}") for n in range(1, calls)),
        an_end(at_s=calls),
    ]
    return [msgspec.structs.replace(event, thread_id="t") for event in events]


async def say(log: LocalLog, events: Sequence[Outside]) -> None:
    for event in events:
        topic = SIGNALS if isinstance(event, OutcomeSignalled) else MESSAGES
        for value in batches([event]):
            await log.emitter().emit(topic.name, key=event.thread_id, value=value)


async def verify(log: LocalLog, lives: int = 1) -> None:
    """Let one worker after the other verify what stands on the log; none leaves anything behind."""
    for _ in range(lives):
        verdicts = Verdicts()
        trajectories = log.consumer([TRAJECTORIES.name], group="v", on_revoked=verdicts.forget)
        heard = log.consumer([SIGNALS.name, MESSAGES.name], group="s")
        verifier = Verifier(log.emitter(), trajectories, heard, verdicts)
        while await verifier.step():
            pass
        await trajectories.close()
        await heard.close()


def newest(log: LocalLog) -> TaskTrajectory:
    """What compaction leaves of the only trajectory, which every reader of the highest revision has as well."""
    every = [msgspec.json.decode(r.value or b"", type=TaskTrajectory) for r in log.records(TRAJECTORIES.name)]
    assert every[-1].revision == max(each.revision for each in every)
    return every[-1]


async def correlated(log: LocalLog, events: Sequence[ToolEvent]) -> None:
    await publish(log, events)
    worker = LocalWorker(log)
    await worker.finish()
    await worker.kill()


SAID: list[Outside] = [signalled("ci_passed", at_s=70), said("LGTM", at_s=80), said("what is a kiln?", at_s=81)]


@pytest.mark.parametrize("first", ["work", "signals"])
def test_signals_verify_the_trajectory_whatever_comes_first(first: str) -> None:
    async def scenario() -> TaskTrajectory:
        log = LocalLog(partitions=2)
        steps: list[Callable[[], object]] = [lambda: correlated(log, events_of(3)), lambda: say(log, SAID)]
        for step in steps if first == "work" else steps[::-1]:
            await step()  # type: ignore[misc]  # both are coroutines
        await verify(log)
        return newest(log)

    found = asyncio.run(scenario())

    assert found.output_verified
    assert {each.signal for each in found.signals} == {"invocation_succeeded", "ci_passed", "operator_accepted"}


def test_a_refusal_that_comes_later_takes_the_acceptance_back() -> None:
    async def scenario() -> TaskTrajectory:
        log = LocalLog(partitions=2)
        await correlated(log, events_of(3))
        await say(log, [said("LGTM", at_s=60)])
        await verify(log)
        assert newest(log).output_verified
        await say(log, [said("no, revert it", at_s=90)])
        await verify(log)
        return newest(log)

    assert not asyncio.run(scenario()).output_verified


def test_a_signal_of_another_thread_and_a_second_reading_emit_nothing() -> None:
    async def scenario() -> tuple[int, int]:
        log = LocalLog(partitions=2)
        await correlated(log, events_of(3))
        before = len(log.records(TRAJECTORIES.name))
        await say(log, [msgspec.structs.replace(signalled("pr_merged"), thread_id="u")])
        await verify(log)
        unmoved = len(log.records(TRAJECTORIES.name)) - before
        await say(log, SAID)
        await verify(log, lives=3)
        return unmoved, len(log.records(TRAJECTORIES.name)) - before

    assert asyncio.run(scenario()) == (0, 1)


def test_a_late_event_makes_a_revision_that_keeps_the_signals() -> None:
    async def scenario() -> TaskTrajectory:
        log = LocalLog(partitions=2)
        early, late = events_of(6)[:-2], events_of(6)[-2:]
        await correlated(log, early)
        await say(log, SAID)
        await verify(log)
        await correlated(log, late)
        await verify(log)
        return newest(log)

    found = asyncio.run(scenario())

    assert found.output_verified
    assert found.calls == 6
    assert found == with_signals(correlate(events_of(6))[1][0], SAID[:1], SAID[1:])  # type: ignore[arg-type]  # one signal, two turns


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_interleaving_ends_with_what_a_replay_says(seed: int) -> None:
    rng = random.Random(seed)
    events = events_of(6)
    outside: list[Outside] = [*SAID, signalled("reverted", at_s=85), signalled("pr_merged", at_s=95)]
    outside = outside[: rng.randrange(1, len(outside) + 1)]
    rng.shuffle(events)
    rng.shuffle(outside)

    async def scenario() -> bytes:
        log = LocalLog(partitions=2)
        left, unsaid = list(events), list(outside)
        while left or unsaid:
            n, m = rng.randrange(1, 4), rng.randrange(3) if left else len(unsaid)
            await correlated(log, left[:n])
            await say(log, unsaid[:m])
            left, unsaid = left[n:], unsaid[m:]
            if rng.random() < 0.5:
                await verify(log)
        await verify(log)
        return log.records(TRAJECTORIES.name)[-1].value or b""

    signals = [each for each in outside if isinstance(each, OutcomeSignalled)]
    messages = [each for each in outside if isinstance(each, MessagePosted)]
    (expected,) = conclusions_of(events, said=Said({"t": signals}, {"t": messages}))[TRAJECTORIES].values()
    assert asyncio.run(scenario()) == expected


def test_memory_is_bounded_and_partitions_that_move_are_forgotten() -> None:
    async def scenario() -> tuple[int, int]:
        log = LocalLog(partitions=1)
        for number in range(3):
            await correlated(log, [_of_invocation(event, number) for event in events_of(2)])
        verdicts = Verdicts(limit=2)
        records = log.records(TRAJECTORIES.name)
        for record in records:
            verdicts.take(record)
        await say(log, SAID)
        for record in log.records(SIGNALS.name):
            verdicts.take(record)
        told = len(verdicts.news())
        verdicts.forget(log.consumer([TRAJECTORIES.name], group="x").assignment)
        await say(log, [signalled("pr_merged", at_s=99)])
        for record in log.records(SIGNALS.name):
            verdicts.take(record)
        return told, len(verdicts.news())

    assert asyncio.run(scenario()) == (2, 0)


def _of_invocation(event: ToolEvent, number: int) -> ToolEvent:
    name = f"v{number}"
    return msgspec.structs.replace(event, invocation_id=name, event_id=f"{number}{event.event_id}"[:32])
