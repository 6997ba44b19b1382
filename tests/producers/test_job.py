"""Imports: what is new is published once, and the report tells what was read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from producers.client import Publisher
from producers.job import Progress, import_paths
from producers.report import ImportReport
from producers.store import Ledger
from streams import codec, deadletter
from streams.errors import BrokerUnavailable
from streams.testing import LocalLog
from streams.topics import MESSAGES, SIGNALS, TOOL_EVENTS
from tests.producers.claude import READ_OF_A_HIT, SESSION, call, prompt, result, transcript


def _import(log: LocalLog, data: Path, *paths: Path, again: bool = False) -> ImportReport:
    ledger = Ledger(data / "ledger.sqlite")
    try:
        return asyncio.run(import_paths(paths, Publisher(log.emitter()), ledger, again=again))
    finally:
        ledger.close()


def _ids(log: LocalLog) -> list[str]:
    values = [record.value or b"" for record in log.records(TOOL_EVENTS.name)]
    return [event.event_id for value in values for event in codec.decode(value)[0]]


def test_a_second_import_publishes_nothing_and_reports_the_same(tmp_path: Path) -> None:
    log, file = LocalLog(), tmp_path / "in" / f"{SESSION}.jsonl"
    file.parent.mkdir()
    file.write_bytes(transcript(READ_OF_A_HIT))

    first = _import(log, tmp_path, file.parent)
    second = _import(log, tmp_path, file.parent)

    assert (first.published, second.published) == (4, 0)
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert (second.files[0].reads, second.files[0].reads_on_hits) == (1, 1)
    assert len(_ids(log)) == 4


def test_a_session_that_went_on_is_published_whole_but_only_its_new_events_count(tmp_path: Path) -> None:
    log, file = LocalLog(), tmp_path / f"{SESSION}.jsonl"
    file.write_bytes(transcript(READ_OF_A_HIT))
    _import(log, tmp_path, file)
    more = (call("toolu_03", "Bash", {"command": "ls"}, at="10:00:05"), result("toolu_03", at="10:00:06"))
    file.write_bytes(transcript([*READ_OF_A_HIT, *more]))

    report = _import(log, tmp_path, file)

    assert (report.published, report.republished) == (2, 3)


def test_history_that_a_fork_copied_is_counted_once_and_joins_its_root(tmp_path: Path) -> None:
    log, fork = LocalLog(), "99999999-2222-4333-8444-555555555555"
    (tmp_path / f"{SESSION}.jsonl").write_bytes(transcript(READ_OF_A_HIT))
    copied = [item | {"uuid": f"new-{item['uuid']}", "sessionId": fork} for item in READ_OF_A_HIT]
    own = [
        prompt("go on", uuid="p9", sessionId=fork, at="11:00:00"),
        call("toolu_09", "Bash", {"command": "ls"}, sessionId=fork, at="11:00:01"),
        result("toolu_09", sessionId=fork, at="11:00:02"),
    ]
    (tmp_path / f"{fork}.jsonl").write_bytes(transcript([*copied, *own]))

    report = _import(log, tmp_path, tmp_path)

    assert report.published == 4 + 3
    assert {record.key for record in log.records(TOOL_EVENTS.name)} == {SESSION.encode()}


def test_a_fork_that_went_on_sends_its_own_turn_whole(tmp_path: Path) -> None:
    log, fork = LocalLog(), "99999999-2222-4333-8444-555555555555"
    (tmp_path / f"{SESSION}.jsonl").write_bytes(transcript(READ_OF_A_HIT))
    copied = [item | {"sessionId": fork} for item in READ_OF_A_HIT]
    own = [
        prompt("go on", uuid="p9", sessionId=fork, at="11:00:00"),
        call("toolu_09", "Bash", {"command": "ls"}, sessionId=fork, at="11:00:01"),
        result("toolu_09", sessionId=fork, at="11:00:02"),
    ]
    more = [call("toolu_10", "Bash", {"command": "pwd"}, sessionId=fork, at="11:00:03")]
    (tmp_path / f"{fork}.jsonl").write_bytes(transcript([*copied, *own]))
    first = _import(log, tmp_path, tmp_path)
    (tmp_path / f"{fork}.jsonl").write_bytes(transcript([*copied, *own, *more]))

    second = _import(log, tmp_path, tmp_path)

    assert (first.published, first.republished) == (4 + 3, 0)
    assert (second.published, second.republished) == (2, 2)


def test_a_broken_line_goes_to_the_dead_letters_once_and_the_rest_is_read(tmp_path: Path) -> None:
    log, file = LocalLog(), tmp_path / f"{SESSION}.jsonl"
    file.write_bytes(transcript(READ_OF_A_HIT[:1]) + b"{broken\n" + transcript(READ_OF_A_HIT[1:]))

    first = _import(log, tmp_path, file)
    again = _import(log, tmp_path, file)

    assert (first.published, first.dead_lettered, again.dead_lettered) == (4, 1, 0)
    assert first.files[0].problems[0].startswith("line 2: ")
    (dead,) = log.records(TOOL_EVENTS.dead)
    letter = deadletter.decode(dead.value or b"")
    assert (letter.stage, letter.raw, letter.line, letter.uri) == ("source", b"{broken", 2, str(file))


def test_a_folder_without_sessions_says_so_and_exits_2(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()

    report = _import(LocalLog(), tmp_path, tmp_path / "in", tmp_path / "nowhere")

    assert report.exit_code == 2
    assert len(report.unread) == 2


def test_files_that_are_no_sessions_are_named_up_to_ten_and_then_counted(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"{number:02}.json").write_text('{"theme": "dark"}', "utf-8")
    (tmp_path / "agent-1.meta.json").write_text('{"agentType": "x"}', "utf-8")

    report = _import(LocalLog(), tmp_path, tmp_path)

    assert len(report.unread) == 11
    assert list(report.unread)[-1] == f"{tmp_path}, 2 more files"


def test_a_log_that_lost_everything_gets_everything_again(tmp_path: Path) -> None:
    log, file = LocalLog(), tmp_path / f"{SESSION}.jsonl"
    file.write_bytes(transcript(READ_OF_A_HIT))
    _import(log, tmp_path, file)

    assert _import(log, tmp_path, file, again=True).published == 4
    assert len(set(_ids(log))) == 4


class _DiesAfter:
    """An emitter whose broker goes away for good after some messages."""

    def __init__(self, log: LocalLog, calls: int) -> None:
        self._emitter, self._left = log.emitter(), calls

    async def emit(
        self, topic: str, *, key: str, value: bytes | None, headers: Mapping[str, bytes] | None = None
    ) -> tuple[int, int]:
        return await self._emitter.emit(topic, key=key, value=value, headers=headers)

    async def emit_all(self, topic: str, messages: Sequence[tuple[str, bytes | None]]) -> None:
        if self._left == 0:
            raise BrokerUnavailable("away")
        self._left -= 1
        await self._emitter.emit_all(topic, messages)

    async def close(self) -> None:
        await self._emitter.close()


def test_an_import_whose_broker_went_away_goes_on_where_it_stopped(tmp_path: Path) -> None:
    log, folder = LocalLog(), tmp_path / "in"
    folder.mkdir()
    for number in range(20):
        session = f"{number:08d}-2222-4333-8444-555555555555"
        own = [item | {"uuid": f"{number}-{item['uuid']}", "sessionId": session} for item in READ_OF_A_HIT]
        data = transcript(own).replace(b"toolu_0", f"toolu_{number}x".encode())
        (folder / f"{session}.jsonl").write_bytes(data)
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(BrokerUnavailable):
        asyncio.run(import_paths([folder], Publisher(_DiesAfter(log, 3)), ledger, batch_events=16))
    ledger.close()
    before = len(_ids(log))

    report = _import(log, tmp_path, folder)

    assert before == 3 * 16
    assert report.published == 80 - before
    assert len(_ids(log)) == len(set(_ids(log))) == 80


def test_progress_is_told_after_every_session(tmp_path: Path) -> None:
    (tmp_path / f"{SESSION}.jsonl").write_bytes(transcript(READ_OF_A_HIT))
    told: list[Progress] = []

    ledger = Ledger(tmp_path / "ledger.sqlite")
    asyncio.run(import_paths([tmp_path], Publisher(LocalLog().emitter()), ledger, told.append))
    ledger.close()

    assert (told[0].files_done, told[0].files) == (1, 1)
    assert (told[-1].events, told[-1].published) == (4, 4)


def test_what_did_not_land_is_published_by_the_next_import(tmp_path: Path) -> None:
    log, file = LocalLog(), tmp_path / f"{SESSION}.jsonl"
    file.write_bytes(transcript(READ_OF_A_HIT))

    async def killed() -> None:
        raise KeyboardInterrupt

    ledger = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(import_paths([file], Publisher(log.emitter()), ledger, landed=killed))
    ledger.close()

    assert _import(log, tmp_path, file).published == 4
    assert len(set(_ids(log))) == 4


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_file_in_another_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / f"{SESSION}.jsonl").write_bytes(transcript(READ_OF_A_HIT).decode().encode(encoding))

    assert _import(LocalLog(), tmp_path, tmp_path).published == 4


def test_a_log_of_the_hooks_of_two_sessions_is_two_sessions(tmp_path: Path) -> None:
    log = LocalLog()
    hook = {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": "/a"}}
    rows = [hook | {"session_id": f"s{number}", "tool_use_id": f"toolu_{number}"} for number in (1, 2)]
    (tmp_path / "hooks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    _import(log, tmp_path, tmp_path)

    assert {record.key for record in log.records(TOOL_EVENTS.name)} == {b"s1", b"s2"}


def test_messages_and_signals_of_a_native_file_go_to_their_own_topics(tmp_path: Path) -> None:
    log = LocalLog()
    base = {
        "occurred_at": "2026-02-08T02:00:00Z",
        "agent_id": "a",
        "runtime": "r",
        "source": {"adapter": "a"},
        "invocation_id": "i",
        "session_id": "s",
        "root_session_id": "s",
        "thread_id": "t-1",
    }
    rows = [
        base | {"kind": "MessagePosted", "event_id": "m", "message_id": "1", "author_kind": "operator", "text": "hi"},
        base | {"kind": "OutcomeSignalled", "event_id": "o", "signal": "ci_passed", "actor": "ci"},
    ]
    (tmp_path / "events.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    report = _import(log, tmp_path, tmp_path)

    assert report.published == 2
    assert [record.key for record in log.records(MESSAGES.name)] == [b"t-1"]
    assert [record.key for record in log.records(SIGNALS.name)] == [b"t-1"]
