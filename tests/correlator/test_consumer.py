"""A worker that dies, loses partitions, or meets what it cannot read ends with what the whole recording says."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from typing import Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from correlator.documents import Documents
from correlator.offline import correlate
from correlator.partition import Limits, PartitionCore
from correlator.window import DEFAULT_POLICY
from streams import deadletter
from streams.errors import DlqLimitExceeded
from streams.events import DocumentIndexed, SessionId, ToolEvent
from streams.log import Partition
from streams.testing import LocalLog
from streams.topics import PROGRESS, RECALL_EVENTS, TOOL_EVENTS
from tests.correlator.builders import a_call, a_search, an_end, at
from tests.correlator.local_worker import (
    GROUP,
    LocalWorker,
    by_id,
    compacted_recalls,
    final_recalls,
    final_trajectories,
    publish,
)

Phase = Literal["open", "changed", "final"]

TIGHT = Limits(closed_events=0, open_events=20, held_messages=5)
"""So little memory that every late event and every long invocation has to be read again."""


def an_invocation(number: int, calls: int = 6, *, ends: bool = True) -> list[ToolEvent]:
    """A search, reads of what it showed and of something else, a second search, and the end."""
    name = f"v{number}"
    start = 40.0 * number
    events: list[ToolEvent] = [
        a_search("docs/a.md", "docs/b.md", at_s=start, use=f"{name}-s1", invocation=name),
        *(
            a_call("Read", {"file_path": f"docs/{'ab'[n % 2]}.md"}, at_s=start + n, use=f"{name}-r{n}", invocation=name)
            for n in range(1, calls)
        ),
        a_search("docs/b.md", at_s=start + calls, use=f"{name}-s2", invocation=name),
    ]
    if ends:
        events.append(an_end(at_s=start + calls + 1, invocation=name))
    root = SessionId(f"root-{number % 5}")
    return [msgspec.structs.replace(event, root_session_id=root) for event in events]


def a_recording(invocations: int, seed: int) -> list[ToolEvent]:
    """Interleaved invocations with duplicates, some out of order, some late events, after the end even."""
    rng = random.Random(seed)
    placed: list[tuple[float, ToolEvent]] = []
    for number in range(invocations):
        for event in an_invocation(number):
            delay = 0.0
            if rng.random() < 0.1:
                delay = rng.uniform(0, 400)
            moment = event.occurred_at.timestamp() + delay
            placed.append((moment, event))
            if rng.random() < 0.05:
                placed.append((moment + rng.uniform(0, 300), event))
    return [event for _, event in sorted(placed, key=lambda pair: pair[0])]


async def live_through(log: LocalLog, seed: int, limits: Limits) -> None:
    """Read the log with a worker that is killed at random moments, before or after acks and commits."""
    rng = random.Random(seed)
    for _ in range(6):
        worker = LocalWorker(log, limits=limits)
        for _ in range(rng.randrange(1, 8)):
            await worker.read(rng.randrange(1, 30))
            if rng.random() < 0.7:
                await worker.flush()
            if rng.random() < 0.2:
                worker.clock.at += timedelta(seconds=2)
            if rng.random() < 0.7:
                await worker.commit()
        await worker.kill()
    worker = LocalWorker(log, limits=limits)
    await worker.finish()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_worker_that_is_killed_at_any_moment_ends_with_what_the_whole_recording_says(seed: int) -> None:
    events = a_recording(20, seed)
    recalls, trajectories = correlate(events)
    for limits in (Limits(), TIGHT):
        log = LocalLog(partitions=3)
        asyncio.run(publish(log, events, batch=3))

        asyncio.run(live_through(log, seed, limits))

        assert final_recalls(log) == by_id(recalls)
        assert compacted_recalls(log) == by_id(recalls)
        assert final_trajectories(log) == {each.trajectory_id: each for each in trajectories}


def test_redelivery_does_not_open_a_closed_invocation_again() -> None:
    async def scenario() -> tuple[int, int]:
        log = LocalLog(partitions=1)
        long_open = an_invocation(0, ends=False)
        await publish(log, [long_open[0], *an_invocation(1), *an_invocation(2)])
        first = LocalWorker(log)
        await first.finish()
        said = len(log.records(RECALL_EVENTS.name))
        await first.kill()
        again = LocalWorker(log)
        await again.finish()
        return said, len([r for r in log.records(RECALL_EVENTS.name)[said:] if b'"v0"' not in (r.value or b"")])

    said, about_the_closed = asyncio.run(scenario())

    assert said == 5
    assert about_the_closed == 0


def test_a_late_event_after_a_restart_joins_its_whole_invocation() -> None:
    events = an_invocation(1)
    late = msgspec.structs.replace(
        a_call("Read", {"file_path": "docs/b.md"}, at_s=44.5, use="late", invocation="v1"),
        root_session_id=events[0].root_session_id,
    )

    async def scenario() -> LocalLog:
        log = LocalLog(partitions=1)
        await publish(log, events)
        worker = LocalWorker(log)
        await worker.finish()
        await worker.kill()
        await publish(log, [late])
        await LocalWorker(log).finish()
        return log

    assert final_recalls(asyncio.run(scenario())) == by_id(correlate([*events, late])[0])


def test_an_invocation_that_stays_open_does_not_hold_the_commit_back_for_ever() -> None:
    async def scenario() -> tuple[int, LocalLog]:
        log = LocalLog(partitions=1)
        head, *tail = an_invocation(0)
        await publish(log, [head, *(event for n in range(1, 30) for event in an_invocation(n))])
        worker = LocalWorker(log, limits=TIGHT)
        await worker.finish()
        committed = log.committed(GROUP)[Partition(TOOL_EVENTS.name, 0)]
        await worker.kill()
        await publish(log, tail)
        await LocalWorker(log, limits=TIGHT).finish()
        return committed, log

    committed, log = asyncio.run(scenario())

    assert committed > 100
    events = [event for n in range(30) for event in an_invocation(n)]
    assert final_recalls(log) == by_id(correlate(events)[0])


def test_a_partition_that_is_quiet_is_committed_to_its_end_although_invocations_are_open() -> None:
    events = an_invocation(1)

    async def scenario() -> tuple[int, LocalLog]:
        log = LocalLog(partitions=1)
        await publish(log, events[:4])
        worker = LocalWorker(log)
        await worker.finish()
        worker.clock.at += timedelta(seconds=1)
        await worker.finish()
        committed = log.committed(GROUP)[Partition(TOOL_EVENTS.name, 0)]
        await worker.kill()
        await publish(log, events[4:])
        await LocalWorker(log).finish()
        return committed, log

    committed, log = asyncio.run(scenario())

    assert committed == 4
    assert final_recalls(log) == by_id(correlate(events)[0])


def test_a_silent_invocation_closes_once_the_partition_has_been_silent_for_the_idle_timeout() -> None:
    async def scenario() -> tuple[set[Phase], set[Phase]]:
        log = LocalLog(partitions=1)
        await publish(log, an_invocation(1, ends=False))
        worker = LocalWorker(log)
        await worker.finish()
        before = {recall.phase for recall in final_recalls(log).values()}
        worker.clock.at += DEFAULT_POLICY.idle_timeout + timedelta(minutes=5)
        await worker.flush()
        return before, {recall.phase for recall in final_recalls(log).values()}

    before, after = asyncio.run(scenario())

    assert "final" not in before
    assert after == {"final"}


@pytest.mark.parametrize("restarted", [False, True])
def test_open_invocations_that_are_more_than_memory_may_hold_close_all_the_same(restarted: bool) -> None:
    events = [event for number in range(40) for event in an_invocation(number, ends=False)]
    last = an_invocation(40)

    async def scenario() -> tuple[set[Phase], LocalLog]:
        log = LocalLog(partitions=1)
        await publish(log, events)
        worker = LocalWorker(log, limits=TIGHT)
        await worker.finish()
        before = {recall.phase for recall in final_recalls(log).values()}
        if restarted:
            await worker.kill()
            worker = LocalWorker(log, limits=TIGHT)
        await publish(log, last)
        await worker.finish()
        worker.clock.at += DEFAULT_POLICY.idle_timeout + timedelta(hours=1)
        for _ in range(3):
            await worker.flush()
        return before, log

    before, log = asyncio.run(scenario())

    assert "final" not in before
    recalls, trajectories = correlate([*events, *last])
    assert final_recalls(log) == by_id(recalls)
    assert final_trajectories(log) == {each.trajectory_id: each for each in trajectories}


def test_memory_holds_no_more_events_of_open_invocations_than_the_limit() -> None:
    core = PartitionCore(limits=Limits(open_events=20, held_messages=5))
    for offset in range(30):
        core.feed(offset, an_invocation(offset, ends=False), at(40.0 * offset))
        core.delivered(core.flush(quiet=True))

    parked = core.overslept(silent_until=at(100_000), most=1000)

    assert core.open_invocations == 30
    assert 26 <= len(parked) < 30
    assert core.frontier == 30


def test_what_cannot_be_read_becomes_a_dead_letter_and_the_rest_of_the_message_is_used() -> None:
    events = an_invocation(1)

    async def scenario() -> LocalLog:
        log = LocalLog(partitions=1)
        await log.emitter().emit(TOOL_EVENTS.name, key="root-1", value=b'{"kind":"Unheard"}\n{broken')
        await publish(log, events, batch=100)
        await LocalWorker(log).finish()
        return log

    log = asyncio.run(scenario())
    letters = [deadletter.decode(record.value or b"") for record in log.records(TOOL_EVENTS.dead)]

    assert [(letter.stage, letter.line, letter.raw) for letter in letters] == [
        ("schema", 0, b'{"kind":"Unheard"}'),
        ("decode", 1, b"{broken"),
    ]
    assert all((letter.partition, letter.offset) == (0, 0) for letter in letters)
    assert len(final_recalls(log)) == 2


def test_an_input_that_is_wrong_as_a_whole_stops_the_worker_and_commits_no_further() -> None:
    async def scenario() -> None:
        log = LocalLog(partitions=1)
        for _ in range(30):
            await log.emitter().emit(TOOL_EVENTS.name, key="k", value=b"\n".join([b"{broken"] * 50))
        await LocalWorker(log).finish()

    with pytest.raises(DlqLimitExceeded, match="expected fewer than 1000 dead letters in a row, got 1000"):
        asyncio.run(scenario())


def test_a_message_of_a_newer_producer_keeps_its_place_beside_the_markers() -> None:
    async def scenario() -> dict[str, bytes]:
        log = LocalLog(partitions=1)
        await publish(log, an_invocation(1))
        await LocalWorker(log).finish()
        return await log.journal(PROGRESS.name).entries(0)

    [(key, value)] = asyncio.run(scenario()).items()

    assert key == "v1"
    assert msgspec.json.decode(value)["last"] == 7


def test_a_read_of_an_indexed_document_that_no_search_had_shown_is_consumed_outside_the_pool() -> None:
    document = DocumentIndexed(anchor="doc:docs/hidden", path="docs/hidden.md", doc_kind="feature", occurred_at=at(0))

    async def scenario() -> LocalLog:
        log = LocalLog(partitions=1)
        read = a_call("Read", {"file_path": "docs/hidden.md"}, at_s=2)
        await publish(log, [a_search("docs/a.md", at_s=0), read, an_end(at_s=3)])
        await LocalWorker(log, documents=Documents([document])).finish()
        return log

    [recall] = final_recalls(asyncio.run(scenario())).values()

    assert [(each.anchor, each.rank) for each in recall.consumed] == [("doc:docs/hidden", None)]
