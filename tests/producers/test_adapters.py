"""The contract of every adapter, run over the registry: a new one needs an entry, an example folder, and no test.

An example folder holds files as the runtime writes them and `expected.json`: what a reader must find in them.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from producers.adapters import ADAPTERS, adapter_for
from producers.redact import MAX_INPUT_BYTES
from producers.translation import Adapter, SourceFile, Translation
from streams import codec
from streams.codec import LogEvent
from streams.events import InvocationEnded, InvocationStarted, ToolCalled

EXAMPLES = Path(__file__).parent.parent / "data" / "adapters"
WRITTEN = datetime(2026, 2, 28, tzinfo=UTC)

every_adapter = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)


def _files(adapter: Adapter) -> list[SourceFile]:
    folder = EXAMPLES / adapter.name
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "expected.json")
    return [SourceFile(path.relative_to(folder).as_posix(), path.read_bytes(), WRITTEN) for path in paths]


def _translated(adapter: Adapter) -> Translation:
    return adapter.translate(_files(adapter))


def told(events: tuple[LogEvent, ...]) -> list[dict[str, Any]]:
    """What a reader must find, in few words."""
    return [_told(event) for event in events]


def _told(event: LogEvent) -> dict[str, Any]:
    if isinstance(event, InvocationStarted):
        return {"started": event.prompt, "at": event.occurred_at.isoformat(), "named": list(event.named_targets)}
    if isinstance(event, InvocationEnded):
        output = event.usage.output if event.usage else None
        return {"ended": event.reason, "calls": event.calls, "output_tokens": output}
    assert isinstance(event, ToolCalled)
    shown = event.recall
    return {
        "call": event.tool,
        "agent": event.agent_id,
        "id": event.tool_use_id,
        "status": event.status.value,
        "error": event.error_kind,
        "epoch": event.context_epoch,
        "touched": [f"{touch.op} {touch.path}" for touch in event.touched],
        "shown": None
        if shown is None
        else [shown.surface, shown.result_status.value, *(c.anchor for c in shown.candidates)],
    }


@every_adapter
def test_an_adapter_finds_in_its_example_what_stands_there(adapter: Adapter) -> None:
    expected = json.loads((EXAMPLES / adapter.name / "expected.json").read_text("utf-8"))

    translation = _translated(adapter)

    assert told(translation.events) == expected
    assert translation.problems == ()


@every_adapter
def test_an_adapter_is_the_one_that_recognises_its_files(adapter: Adapter) -> None:
    for file in _files(adapter):
        assert adapter_for(file.uri, bytes(file.data[:65536])) is adapter, file.uri


@every_adapter
def test_the_files_of_an_example_belong_together(adapter: Adapter) -> None:
    keys = {adapter.lineage(file.uri, bytes(file.data[:65536])) for file in _files(adapter)}

    assert len(keys) == 1 or adapter.name == "otlp"


@every_adapter
def test_the_same_files_give_the_same_events_in_any_order_with_ids_of_their_own(adapter: Adapter) -> None:
    files = _files(adapter)

    once, again = adapter.translate(files), adapter.translate(files[::-1])

    assert sorted(event.event_id for event in once.events) == sorted(event.event_id for event in again.events)
    assert len({event.event_id for event in once.events}) == len(once.events)


@every_adapter
def test_the_events_of_an_adapter_travel_and_come_back_equal(adapter: Adapter) -> None:
    events = _translated(adapter).events

    back = [event for value in codec.batches(events) for event in codec.decode(value)[0]]

    assert back == list(events)


@every_adapter
def test_no_input_is_too_large_and_no_secret_leaves(adapter: Adapter) -> None:
    for event in _translated(adapter).events:
        assert b"abcdefghijklmnopqrstuvwxyz123456" not in msgspec.json.encode(event)
        if isinstance(event, ToolCalled):
            assert len(msgspec.json.encode(event.input)) <= MAX_INPUT_BYTES


@every_adapter
def test_whatever_is_read_is_counted(adapter: Adapter) -> None:
    translation = _translated(adapter)

    calls = sum(isinstance(event, ToolCalled) for event in translation.events)
    assert sum(counts.calls for counts in translation.files.values()) == calls
    assert set(translation.files) == {file.uri for file in _files(adapter)}


@every_adapter
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_file_that_was_cut_anywhere_is_read_as_far_as_it_goes(adapter: Adapter, data: st.DataObject) -> None:
    files = _files(adapter)
    cut = data.draw(st.integers(0, max(len(file.data) for file in files)))

    translation = adapter.translate([SourceFile(file.uri, bytes(file.data[:cut]), WRITTEN) for file in files])

    assert all(problem.kind == "skipped" or problem.reason for problem in translation.problems)
    list(codec.batches(translation.events))


@every_adapter
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_bytes_that_went_wrong_never_stop_an_adapter(adapter: Adapter, data: st.DataObject) -> None:
    files = _files(adapter)
    places = data.draw(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=8))
    broken = []
    for file in files:
        raw = bytearray(file.data)
        for place, value in places:
            raw[place % len(raw)] = value
        broken.append(SourceFile(file.uri, bytes(raw), WRITTEN))

    translation = adapter.translate(broken)

    list(codec.batches(translation.events))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@every_adapter
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_values_of_a_wrong_type_never_stop_an_adapter(adapter: Adapter, data: st.DataObject) -> None:
    files = _files(adapter)
    chosen = data.draw(st.integers(0, len(files) - 1))
    raw = bytes(files[chosen].data)
    whole = raw.lstrip().startswith(b"[") or b"\n  " in raw
    rows = [json.loads(raw)] if whole else [json.loads(line) for line in raw.splitlines()]
    row = data.draw(st.integers(0, len(rows) - 1))
    _spoil(rows[row], data)
    spoiled = b"\n".join(json.dumps(item).encode() for item in rows)

    translation = adapter.translate([SourceFile(files[chosen].uri, spoiled, WRITTEN)])

    list(codec.batches(translation.events))


def _spoil(value: Any, data: st.DataObject) -> None:
    """Put some other JSON in some place of a value."""
    while isinstance(value, dict | list) and value:
        key = data.draw(st.sampled_from(sorted(value) if isinstance(value, dict) else list(range(len(value)))))
        if not isinstance(value[key], dict | list) or not value[key] or data.draw(st.booleans()):
            value[key] = data.draw(JSON)
            return
        value = value[key]
