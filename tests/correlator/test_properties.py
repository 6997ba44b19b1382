"""Whatever the order, however often, in whatever portions events arrive: the conclusions are the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from correlator.decide import END_OF_TIME, decide, is_news
from correlator.documents import Documents
from correlator.invocation import Invocation, evolve
from correlator.offline import correlate
from streams.codec import batches, decode
from streams.events import DocumentIndexed, InvocationEnded, InvocationStarted, ToolCalled, ToolEvent, ToolStatus
from streams.recall import RecallEvent
from tests.correlator.builders import T0, a_call, a_read, a_search, a_shell, a_start, an_end, at

PATHS = ("notes/a.md", "notes/b.md", "src/c.py", "README.md")
DOCUMENTS = Documents(DocumentIndexed(anchor=f"D{path}", path=path, doc_kind="plan", occurred_at=T0) for path in PATHS)

paths = st.sampled_from(PATHS)
agents = st.sampled_from(["a1", "a1/sub", "a2"])
moments = st.integers(0, 400) | st.integers(0, 9_000)


@st.composite
def an_event(draw: st.DrawFn) -> ToolEvent:
    kind = draw(st.sampled_from(["search", "search", "read", "read", "shell", "edit", "start", "end"]))
    where: dict[str, Any] = {
        "at_s": draw(moments),
        "agent": draw(agents),
        "use": f"{kind}{draw(st.integers(0, 15))}",  # all observations of a call agree on what it was
        "adapter": draw(st.sampled_from(["claude-transcript", "claude-hooks", "otlp"])),
        "status": draw(st.sampled_from(list(ToolStatus))),
        "turn_index": draw(st.integers(0, 3)),
        "context_epoch": draw(st.integers(0, 1)),
        "ended_at": draw(st.none() | st.integers(0, 9_000).map(at)),
        "cwd": draw(st.sampled_from(["", "/r"])),
    }
    if kind == "search":
        shown = draw(st.lists(paths, max_size=3))
        return a_search(*shown, tool=draw(st.sampled_from(["search_evidence", "graph_resolve"])), **where)
    if kind == "read":
        return a_read(draw(st.sampled_from(["", "/r/"])) + draw(paths), **where)
    if kind == "shell":
        return a_shell(draw(st.sampled_from([f"cat {draw(paths)}", "cd notes && cat a.md", "ls"])), **where)
    if kind == "edit":
        return a_call("Edit", {"file_path": draw(paths)}, **where)
    if kind == "start":
        return a_start(at_s=where["at_s"], named_targets=(draw(paths),), prompt="x")
    return an_end(at_s=where["at_s"])


def distinct(events: Sequence[ToolEvent]) -> list[ToolEvent]:
    """One event an id, as sources guarantee."""
    return list({event.event_id: event for event in events}.values())


histories = st.lists(an_event(), min_size=1, max_size=25).map(distinct)


def as_bytes(events: Sequence[ToolEvent]) -> bytes:
    return msgspec.json.encode(correlate(events, documents=DOCUMENTS))


def by_id(recalls: Iterable[RecallEvent]) -> dict[str, RecallEvent]:
    return {recall.recall_id: recall for recall in recalls}


@given(histories, st.data())
def test_order_of_arrival_changes_nothing(events: list[ToolEvent], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(events))

    assert as_bytes(shuffled) == as_bytes(events)


@given(histories, st.data())
def test_duplicates_change_nothing(events: list[ToolEvent], data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(events), max_size=10))

    assert as_bytes([*events, *again]) == as_bytes(events)


@given(histories, st.data())
def test_a_replay_through_the_log_in_any_portions_gives_the_same(events: list[ToolEvent], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(events)))
    messages = [message for start in range(0, len(events), size) for message in batches(events[start : start + size])]

    replayed = [event for message in messages for event in decode(message)[0]]

    assert as_bytes(
        [each for each in replayed if isinstance(each, ToolCalled | InvocationStarted | InvocationEnded)]
    ) == as_bytes(events)


@given(histories, st.data())
def test_deciding_between_messages_changes_nothing(events: list[ToolEvent], data: st.DataObject) -> None:
    arrival = data.draw(st.permutations(events))
    stops = data.draw(st.sets(st.integers(0, len(events))))
    state: Invocation | None = None
    for place, event in enumerate(arrival):
        state = evolve(state, event)
        if place in stops:
            decide(state, event.occurred_at, documents=DOCUMENTS)
    assert state is not None

    decided = decide(state, END_OF_TIME, documents=DOCUMENTS)

    recalls, trajectories = correlate(events, documents=DOCUMENTS)
    assert by_id(decided.recalls) == by_id(recalls)
    assert decided.trajectory == (trajectories[0] if trajectories else None)


@given(histories, st.data())
def test_what_is_sent_only_rises_and_ends_in_the_final_conclusions(
    events: list[ToolEvent], data: st.DataObject
) -> None:
    arrival = data.draw(st.permutations(events))
    state: Invocation | None = None
    sent: dict[str, RecallEvent] = {}
    for event in [*arrival, None]:
        state = evolve(state, event) if event is not None else state
        assert state is not None
        decided = decide(state, event.occurred_at if event is not None else END_OF_TIME, documents=DOCUMENTS)
        for recall in decided.recalls:
            before = sent.get(recall.recall_id)
            if is_news(before, recall):
                assert before is None or recall.revision >= before.revision
                sent[recall.recall_id] = recall

    recalls, _ = correlate(events, documents=DOCUMENTS)
    assert sent == by_id(recalls)
    assert all(recall.phase == "final" for recall in recalls)


@given(histories)
def test_an_older_value_keeps_its_meaning_when_a_newer_one_was_made(events: list[ToolEvent]) -> None:
    state: Invocation | None = None
    values: list[Invocation] = []
    for event in events:
        state = evolve(state, event)
        values.append(state)
    decide(values[-1], END_OF_TIME)

    for size, value in enumerate(values, start=1):
        recalls, _ = correlate(events[:size])
        assert by_id(decide(value, END_OF_TIME).recalls) == by_id(recalls)
        assert evolve(value, events[size - 1]) is value


@given(histories)
def test_what_is_concluded_is_within_its_bounds(events: list[ToolEvent]) -> None:
    recalls, trajectories = correlate(events, documents=DOCUMENTS)

    for recall in recalls:
        ranks = {candidate.rank for candidate in recall.candidates}
        for each in recall.consumed:
            assert 0 < each.credit <= 1
            assert each.distance >= 1
            assert each.elapsed_ms >= 0
            assert each.rank is None or each.rank in ranks
            assert each.dwell_ms is None or each.dwell_ms >= 0
        assert not (recall.abandoned and (recall.zero_hit or recall.reformulated))
        assert (recall.clarity is None) == (not any(each.rank is not None for each in recall.consumed))
    for trajectory in trajectories:
        assert trajectory.duration_ms >= 0
        assert len(trajectory.steps) == trajectory.calls


@given(histories)
def test_the_credit_that_a_call_gives_for_one_target_sums_to_one(events: list[ToolEvent]) -> None:
    recalls, _ = correlate(events)
    given_by: dict[tuple[str, str, str], float] = {}
    for recall in recalls:
        for each in recall.consumed:
            if each.rank is not None and each.grade != "E":
                key = (each.tool_use_id, recall.surface, msgspec.json.encode(each.target).decode())
                given_by[key] = given_by.get(key, 0) + each.credit

    assert all(total <= 1 + 1e-9 for total in given_by.values())
