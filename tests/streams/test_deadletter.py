"""Dead letters keep the bytes, the place and the reason; a budget ends what is wrong as a whole."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams import codec, deadletter
from streams.deadletter import DeadLetter, DlqBudget, DlqLimit, Replay, ReplayPolicy
from streams.errors import DlqLimitExceeded
from streams.log import Record
from streams.topics import TOOL_EVENTS
from tests.correlator.builders import a_call


def a_letter(**fields: object) -> DeadLetter:
    defaults: dict[str, object] = {"stage": "schema", "reason": "r", "topic": TOOL_EVENTS.name, "raw": b"{"}
    return DeadLetter(**(defaults | fields))  # type: ignore[arg-type]  # a builder


@given(st.binary(max_size=200))
def test_any_bytes_survive_the_way_through_the_topic(raw: bytes) -> None:
    letter = a_letter(raw=raw, partition=3, offset=17, line=2, adapter="codex", at=datetime(2026, 1, 1, tzinfo=UTC))

    assert deadletter.decode(deadletter.encode(letter)) == letter


def test_a_broken_line_tells_where_it_stood_and_what_can_still_be_read_of_it() -> None:
    raw = b'{"kind":"ToolCalled","schema_version":9,"source":{"adapter":"codex","uri":"a.jsonl"}}'
    at = datetime(2026, 1, 1, tzinfo=UTC)
    record = Record(topic="t", partition=1, offset=5, key=b"k", value=b"\n" + raw, timestamp=at)
    [bad] = codec.decode(record.value or b"")[1]

    letter = deadletter.of_line(record, bad)

    assert (letter.partition, letter.offset, letter.line, letter.raw, letter.at) == (1, 5, 1, raw, at)
    assert (letter.stage, letter.adapter, letter.uri, letter.schema_version) == ("schema", "codex", "a.jsonl", 9)
    assert "expected schema_version within one of 1, got 9" in letter.reason


def test_single_bad_events_stay_within_the_budget() -> None:
    budget = DlqBudget()

    for _ in range(200):
        budget = budget.after(good=99, dead=1)

    assert (budget.good, budget.dead) == (19_800, 200)


def test_more_than_one_in_a_hundred_is_a_wrong_input() -> None:
    budget = DlqBudget().after(good=990, dead=10)

    with pytest.raises(DlqLimitExceeded, match=r"expected at most 1.0% of the events to be unusable, got 11 of 1001"):
        budget.after(good=0, dead=1)


def test_so_many_in_a_row_are_a_wrong_input_however_many_were_good_before() -> None:
    budget = DlqBudget(DlqLimit(max_in_a_row=5), good=1_000_000).after(good=0, dead=4)

    with pytest.raises(DlqLimitExceeded, match="expected fewer than 5 dead letters in a row, got 5"):
        budget.after(good=0, dead=1)


def test_a_good_event_ends_a_row() -> None:
    budget = DlqBudget(DlqLimit(max_in_a_row=5), good=1_000_000).after(good=0, dead=4).after(good=1, dead=0)

    assert budget.after(good=0, dead=4).in_a_row == 4


def test_a_letter_that_can_be_read_by_now_is_replayed_under_its_original_id() -> None:
    event = a_call("Read", {"file_path": "a.md"})

    replay = ReplayPolicy().replay(a_letter(raw=codec.encode([event])))

    assert replay == Replay(TOOL_EVENTS.name, "s1", codec.encode([event]), event.event_id)


@pytest.mark.parametrize(
    ("letter", "reason"),
    [
        (a_letter(raw=b"{broken"), "still unreadable"),
        (a_letter(stage="land"), "no fault of the bytes"),
        (a_letter(topic="elsewhere"), "none of ours"),
    ],
)
def test_a_letter_that_trying_again_cannot_help_says_why(letter: DeadLetter, reason: str) -> None:
    replay = ReplayPolicy().replay(letter)

    assert isinstance(replay, str)
    assert reason in replay
