"""Dead letters are listed until somebody settles them; replay and verify agree with the stream."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from correlator.offline import correlate
from deploy.cli.main import COMMANDS, build
from deploy.deadletters import DeadLetters, trials
from deploy.replay import compare, conclusions_of, raw_events, rebuild, said
from streams import codec, deadletter
from streams.deadletter import DeadLetter, Replay
from streams.errors import ConfigError
from streams.events import ToolEvent
from streams.testing import LocalLog
from streams.topics import RECALL_EVENTS, TOOL_EVENTS
from tests.correlator.builders import a_call, a_search, an_end
from tests.correlator.local_worker import LocalWorker, publish
from tests.correlator.test_verdicts import SAID, events_of, say, verify
from warehouse.sink import GROUP, SINK_TOPICS, Sink
from warehouse.store import Warehouse

EVENTS: Sequence[ToolEvent] = (
    a_search("docs/a.md", "docs/b.md", at_s=0),
    a_call("Read", {"file_path": "docs/b.md"}, at_s=2),
    an_end(at_s=3),
)


async def landed(log: LocalLog, folder: Path) -> None:
    """Land what stands on the log."""
    consumer = log.consumer(SINK_TOPICS, group=GROUP)
    sink = Sink(consumer, folder, emitter=log.emitter(), flush_rows=1)
    sink.prepare()
    for _ in range(5):
        await sink.step()
    stop = asyncio.Event()
    stop.set()
    await sink.run(stop)
    await consumer.close()


async def correlated(events: Sequence[ToolEvent]) -> LocalLog:
    log = LocalLog(partitions=1)
    await publish(log, events)
    await LocalWorker(log).finish()
    return log


async def with_letters(folder: Path, *raws: bytes) -> DeadLetters:
    log = LocalLog(partitions=1)
    for number, raw in enumerate(raws):
        letter = DeadLetter(stage="schema", reason="r", topic=TOOL_EVENTS.name, partition=0, offset=number, raw=raw)
        await log.emitter().emit(TOOL_EVENTS.dead, key="k", value=deadletter.encode(letter))
    await landed(log, folder)
    return DeadLetters(folder)


def test_a_settled_letter_waits_no_more(tmp_path: Path) -> None:
    letters = asyncio.run(with_letters(tmp_path, b"{one", b"{two"))
    [first, second] = letters.waiting()

    letters.settle([first], "dropped")

    assert letters.waiting() == [second]
    with pytest.raises(ConfigError, match="expected ids of waiting dead letters"):
        letters.find([first.letter_id])


def test_a_trial_replays_what_can_be_read_and_says_why_the_rest_stays(tmp_path: Path) -> None:
    event = EVENTS[1]
    letters = asyncio.run(with_letters(tmp_path, codec.encode([event]), b"{broken"))

    results = [trial.result for trial in trials(letters.waiting())]

    assert [r.event_id for r in results if isinstance(r, Replay)] == [event.event_id]
    assert [r for r in results if isinstance(r, str) and "still unreadable" in r]


def test_the_command_lists_shows_and_drops(tmp_path: Path) -> None:
    letters = asyncio.run(with_letters(tmp_path, b'{"kind":"Unheard"}'))
    [letter] = letters.waiting()
    app, runner, data = build(COMMANDS), CliRunner(), ["--data", str(tmp_path)]

    listed = runner.invoke(app, ["dlq", "list", "--json", *data])
    shown = runner.invoke(app, ["dlq", "show", letter.letter_id[:8], *data])
    tried = runner.invoke(app, ["dlq", "replay", "--dry-run", "--json", *data])
    dropped = runner.invoke(app, ["dlq", "drop", letter.letter_id[:8], *data])

    assert [each["letter_id"] for each in msgspec.json.decode(listed.stdout)] == [letter.letter_id]
    assert '{"kind":"Unheard"}' in shown.stdout
    assert "still unreadable" in msgspec.json.decode(tried.stdout)["letters"][0]["kept_because"]
    assert "1 dropped" in dropped.stdout
    assert letters.waiting() == []


def test_the_stream_and_a_replay_of_its_raw_events_agree_row_for_row(tmp_path: Path) -> None:
    asyncio.run(landed(asyncio.run(correlated(EVENTS)), tmp_path))
    warehouse = Warehouse(tmp_path)

    comparisons = compare(warehouse, conclusions_of(raw_events(warehouse)))

    assert [(each.table, each.rows, each.equal) for each in comparisons] == [
        ("recall_events", 1, True),
        ("trajectories", 1, True),
    ]


def test_a_replay_hears_what_was_said_of_the_work(tmp_path: Path) -> None:
    async def verified() -> LocalLog:
        log = await correlated(events_of(3))
        await say(log, SAID)
        await verify(log)
        return log

    asyncio.run(landed(asyncio.run(verified()), tmp_path))
    warehouse = Warehouse(tmp_path)

    deaf = compare(warehouse, conclusions_of(raw_events(warehouse)))
    hearing = compare(warehouse, conclusions_of(raw_events(warehouse), said=said(warehouse)))

    assert [each.equal for each in deaf] == [True, False]
    assert [each.equal for each in hearing] == [True, True]


def test_a_difference_is_named_with_its_row_and_column_and_a_rebuild_mends_it(tmp_path: Path) -> None:
    async def spoilt() -> LocalLog:
        log = await correlated(EVENTS)
        [recall] = correlate(EVENTS)[0]
        wrong = msgspec.structs.replace(recall, abandoned=not recall.abandoned)
        await log.emitter().emit(RECALL_EVENTS.name, key=recall.recall_id, value=msgspec.json.encode(wrong))
        await landed(log, tmp_path)
        return log

    log = asyncio.run(spoilt())
    warehouse = Warehouse(tmp_path)
    replayed = conclusions_of(raw_events(warehouse))

    before = compare(warehouse, replayed)[0]
    asyncio.run(rebuild(log.emitter(), replayed))
    asyncio.run(landed(log, tmp_path))
    after = compare(warehouse, replayed)[0]

    assert (before.lost, before.extra, before.differing) == (0, 0, 1)
    assert before.first is not None
    assert (before.first.column, before.first.landed, before.first.replayed) == ("abandoned", True, False)
    assert after.equal
