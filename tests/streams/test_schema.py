"""What was ever released can be read for ever: fixtures of every version, and neighbours of today's."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from streams import codec
from streams.codec import BadLine, LogEvent, decode, decode_line
from streams.deadletter import DeadLetter
from streams.events import SCHEMA_VERSION, DocumentIndexed, EventBase
from streams.recall import RECALL_SCHEMA_VERSION, AnchorPrior, RecallEvent, RecallOutcome, TaskTrajectory

FOLDER = Path(__file__).parents[1] / "data" / "schema"

RELEASED = {
    name: digest for digest, name in map(str.split, (FOLDER / "RELEASED").read_text(encoding="ascii").splitlines())
}
"""File -> sha256 at its release. A line is added with a new version and never changed or removed."""

OTHERS: dict[str, Any] = {
    each.__name__: each for each in (RecallOutcome, RecallEvent, TaskTrajectory, AnchorPrior, DocumentIndexed)
}
CURRENT = dict.fromkeys(codec.KINDS, SCHEMA_VERSION) | dict.fromkeys(OTHERS, RECALL_SCHEMA_VERSION)
CURRENT |= {"DocumentIndexed": SCHEMA_VERSION, "DeadLetter": 1}
"""Contract -> the version that is written today."""

EVENTS = [pytest.param(name, id=name) for name in RELEASED if name.split(".")[0] in codec.KINDS]


def line_of(name: str) -> bytes:
    return msgspec.json.encode(msgspec.json.decode((FOLDER / name).read_bytes()))


def changed(name: str, **fields: Any) -> bytes:
    return msgspec.json.encode(msgspec.json.decode((FOLDER / name).read_bytes()) | fields)


def event_of(line: bytes) -> LogEvent:
    event = decode_line(line)
    assert isinstance(event, EventBase), event
    return event


def test_no_released_fixture_was_changed_or_removed() -> None:
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in FOLDER.glob("*.json")}

    assert found == RELEASED


def test_every_contract_has_a_fixture_of_the_version_that_is_written_today() -> None:
    assert {f"{contract}.v{version}.json" for contract, version in CURRENT.items()} <= RELEASED.keys()


@pytest.mark.parametrize("name", EVENTS)
def test_a_released_event_is_read_with_everything_it_says(name: str) -> None:
    event = event_of(line_of(name))

    said = msgspec.json.decode(msgspec.json.encode(event))
    assert said == msgspec.json.decode(line_of(name))
    assert event.extra == {"key": "anything"}


@pytest.mark.parametrize("name", [name for name in RELEASED if name.split(".")[0] not in codec.KINDS])
def test_a_released_conclusion_is_read_with_everything_it_says(name: str) -> None:
    contract: Any = (OTHERS | {"DeadLetter": DeadLetter})[name.split(".")[0]]

    value = msgspec.json.decode(line_of(name), type=contract)

    assert msgspec.json.decode(msgspec.json.encode(value)) == msgspec.json.decode(line_of(name))


@pytest.mark.parametrize("contract", sorted(OTHERS.keys() - {"RecallOutcome"}))
def test_a_conclusion_of_the_next_version_is_read_by_what_is_known_of_it(contract: str) -> None:
    name = f"{contract}.v{CURRENT[contract]}.json"
    newer = changed(name, schema_version=CURRENT[contract] + 1, later_field=1)

    value = msgspec.json.decode(newer, type=OTHERS[contract])

    assert value.schema_version == CURRENT[contract] + 1


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_of_the_next_version_keeps_what_is_not_known_of_it(name: str) -> None:
    older = msgspec.json.decode(line_of(name))
    source = older["source"] | {"host": "a"}

    event = event_of(changed(name, schema_version=SCHEMA_VERSION + 1, later_field=[1, 2], source=source))

    assert event.extra == {"key": "anything", "later_field": [1, 2], "source.host": "a"}
    assert event.event_id == older["event_id"]


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_of_the_version_before_is_brought_up_to_date(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    monkeypatch.setitem(codec.UPCASTERS, SCHEMA_VERSION, lambda record: record | {"thread_id": "by the upcaster"})

    events, bad = decode(b"\n".join([line_of(name)] * 2))

    assert not bad
    assert [event.thread_id for event in events] == ["by the upcaster"] * 2


@pytest.mark.parametrize("fields", [{"kind": "ToolForeseen"}, {"schema_version": SCHEMA_VERSION + 2}])
def test_an_unknown_kind_or_a_version_too_far_off_is_a_dead_letter_and_its_neighbour_is_read(fields: Any) -> None:
    name = "ToolCalled.v1.json"

    events, [bad] = decode(changed(name, **fields) + b"\n" + line_of(name))

    assert isinstance(bad, BadLine)
    assert (bad.stage, bad.index) == ("schema", 0)
    assert [event.event_id for event in events] == ["event-id-1"]
