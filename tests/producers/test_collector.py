"""The collector: whatever it said yes to reaches the log."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from producers.client import Publisher
from producers.collector import build, drain, drain_once
from producers.spool import backoff_s
from producers.store import Spool
from streams import codec, deadletter
from streams.clock import FixedClock
from streams.codec import LogEvent
from streams.errors import BrokerUnavailable, StorageUnavailable
from streams.events import InvocationEnded, InvocationStarted, ToolCalled, ToolStatus
from streams.testing import LocalLog
from streams.topics import TOOL_EVENTS
from tests.producers.test_adapters import EXAMPLES

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOOK = {
    "session_id": "77aa2c3e-1111-4222-8333-944455556666",
    "prompt_id": "10000000-0000-4000-8000-000000000001",
    "cwd": "/srv/app",
    "tool_name": "Read",
    "tool_input": {"file_path": "/srv/app/a.md"},
    "tool_use_id": "toolu_01",
}


def _post(spool: Spool, path: str, body: bytes, clock: FixedClock, **headers: str) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=build(spool, clock, token=headers.pop("expected_token", "")))
        async with httpx.AsyncClient(transport=transport, base_url="http://collector") as client:
            return await client.post(path, content=body, headers=headers)

    return asyncio.run(send())


def _events(log: LocalLog) -> list[LogEvent]:
    return [event for record in log.records(TOOL_EVENTS.name) for event in codec.decode(record.value or b"")[0]]


def _spool(tmp_path: Path, **options: Any) -> Spool:
    return Spool(tmp_path / "spool.sqlite", **options)


def test_a_hook_is_answered_with_an_empty_body_and_both_hooks_of_a_call_become_one(tmp_path: Path) -> None:
    spool, log, clock = _spool(tmp_path), LocalLog(), FixedClock(NOW)

    before = _post(spool, "/hooks/claude", json.dumps(HOOK | {"hook_event_name": "PreToolUse"}).encode(), clock)
    clock.at = NOW + timedelta(seconds=2)
    after = HOOK | {"hook_event_name": "PostToolUse", "tool_response": {"type": "text", "file": {"content": "x"}}}
    _post(spool, "/hooks/claude", json.dumps(after, indent=1).encode(), clock)
    asyncio.run(drain_once(spool, Publisher(log.emitter())))

    assert (before.status_code, before.content) == (200, b"")
    (call,) = _events(log)
    assert isinstance(call, ToolCalled)
    assert (call.status, call.occurred_at, call.ended_at) == (ToolStatus.OK, NOW, NOW + timedelta(seconds=2))
    assert spool.size_bytes == 0


def test_a_part_of_a_session_neither_ends_its_invocation_nor_counts_its_calls(tmp_path: Path) -> None:
    spool, log, clock = _spool(tmp_path), LocalLog(), FixedClock(NOW)
    hooks = [
        HOOK | {"hook_event_name": "UserPromptSubmit", "prompt": "go"},
        HOOK | {"hook_event_name": "PreToolUse"},
    ]

    for hook in hooks:
        _post(spool, "/hooks/claude", json.dumps(hook).encode(), clock)
    asyncio.run(drain_once(spool, Publisher(log.emitter())))
    _post(spool, "/hooks/claude", json.dumps(HOOK | {"hook_event_name": "Stop"}).encode(), clock)
    asyncio.run(drain_once(spool, Publisher(log.emitter())))

    started, call, ended = _events(log)
    assert isinstance(started, InvocationStarted)
    assert isinstance(call, ToolCalled)
    assert isinstance(ended, InvocationEnded)
    assert (ended.reason, ended.calls) == ("stop", None)
    assert len({started.invocation_id, call.invocation_id, ended.invocation_id}) == 1


def test_traces_come_packed_or_plain_and_twice_without_harm(tmp_path: Path) -> None:
    spool, log, clock = _spool(tmp_path), LocalLog(), FixedClock(NOW)
    body = (EXAMPLES / "otlp" / "trace.json").read_bytes()

    plain = _post(spool, "/v1/traces", body, clock)
    packed = _post(spool, "/v1/traces", gzip.compress(body), clock, **{"content-encoding": "gzip"})
    asyncio.run(drain_once(spool, Publisher(log.emitter())))

    assert (plain.content, packed.content) == (b"{}", b"{}")
    calls = [event for event in _events(log) if isinstance(event, ToolCalled)]
    assert len(calls) == 8
    assert len({call.event_id for call in calls}) == 4


def test_a_small_body_that_unpacks_to_a_huge_one_is_refused(tmp_path: Path) -> None:
    spool = _spool(tmp_path)
    bomb = gzip.compress(b" " * (65 * 1024 * 1024), 9)

    answer = _post(spool, "/v1/traces", bomb, FixedClock(NOW), **{"content-encoding": "gzip"})

    assert answer.status_code == 413
    assert spool.size_bytes == 0


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "application/x-protobuf"}, 415),
        ({"content-encoding": "gzip"}, 400),
        ({"expected_token": "s", "authorization": "Bearer other"}, 401),
        ({"expected_token": "s", "authorization": "Bearer s"}, 200),
    ],
)
def test_what_it_cannot_take_it_says_at_once(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    assert _post(_spool(tmp_path), "/v1/traces", b"{}", FixedClock(NOW), **headers).status_code == status


def test_bytes_that_are_no_event_go_to_the_dead_letters_without_their_secrets(tmp_path: Path) -> None:
    spool, log = _spool(tmp_path), LocalLog()

    _post(spool, "/v1/events", b'{"kind":"ToolCalled","password": "hunter2hunter2"}\n{broken', FixedClock(NOW))
    asyncio.run(drain_once(spool, Publisher(log.emitter())))

    letters = [deadletter.decode(record.value or b"") for record in log.records(TOOL_EVENTS.dead)]
    assert [letter.uri for letter in letters] == ["/v1/events"] * 2
    assert not any(b"hunter2" in letter.raw for letter in letters)


def test_a_full_spool_asks_the_sender_to_come_again(tmp_path: Path) -> None:
    spool = _spool(tmp_path, max_bytes=10)

    answer = _post(spool, "/hooks/claude", b'{"hook_event_name":"Stop"}', FixedClock(NOW))

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")


def test_what_was_taken_in_outlives_the_process(tmp_path: Path) -> None:
    spool = _spool(tmp_path)
    spool.put(adapter="native", endpoint="/v1/events", received_at=NOW, body=b"{}")
    spool.close()

    again = _spool(tmp_path)

    assert [payload.body for payload in again.peek(10)] == [b"{}"]
    assert again.size_bytes == 2


class _Away:
    """An emitter whose broker is away for its first calls."""

    def __init__(self, log: LocalLog, times: int) -> None:
        self._emitter, self._left = log.emitter(), times
        self.told = asyncio.Event()

    async def emit(
        self, topic: str, *, key: str, value: bytes | None, headers: Mapping[str, bytes] | None = None
    ) -> tuple[int, int]:
        return await self._emitter.emit(topic, key=key, value=value, headers=headers)

    async def emit_all(self, topic: str, messages: Sequence[tuple[str, bytes | None]]) -> None:
        if self._left:
            self._left -= 1
            raise BrokerUnavailable("away")
        await self._emitter.emit_all(topic, messages)
        self.told.set()

    async def close(self) -> None:
        await self._emitter.close()


def test_while_the_broker_is_away_nothing_is_lost_and_then_it_is_published(tmp_path: Path) -> None:
    spool, log = _spool(tmp_path), LocalLog()
    body = (EXAMPLES / "native" / "events.ndjson").read_bytes()
    spool.put(adapter="native", endpoint="/v1/events", received_at=NOW, body=body)

    async def run() -> None:
        stop, wake = asyncio.Event(), asyncio.Event()
        emitter = _Away(log, 1)
        task = asyncio.create_task(drain(spool, Publisher(emitter), stop=stop, wake=wake))
        async with asyncio.timeout(10):
            await emitter.told.wait()
        stop.set()
        await task

    asyncio.run(run())

    assert len(_events(log)) == 3
    assert spool.size_bytes == 0


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    (tmp_path / "spool.sqlite").mkdir()

    with pytest.raises(StorageUnavailable):
        _spool(tmp_path)


def test_the_wait_for_a_broker_doubles_up_to_half_a_minute() -> None:
    assert [backoff_s(failures) for failures in (1, 2, 3, 100)] == [0.5, 1.0, 2.0, 30.0]
