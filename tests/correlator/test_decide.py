"""Phases, revisions, closing, merging of observations, token cost: what a conclusion says of itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from correlator.decide import END_OF_TIME, decide, is_closed, is_news
from correlator.invocation import Invocation, evolve
from correlator.offline import correlate
from correlator.window import CODING_V1, DEFAULT_POLICY, CorrelatorPolicy, policy_named
from streams.events import TokenCost, ToolEvent, ToolStatus, Usage
from streams.recall import RecallEvent
from tests.correlator.builders import T0, a_call, a_read, a_search, a_start, an_end, at, candidates, outcome


def state_of(*events: ToolEvent) -> Invocation:
    state: Invocation | None = None
    for event in events:
        state = evolve(state, event)
    assert state is not None
    return state


def recall_of(*events: ToolEvent, now: Any = END_OF_TIME) -> RecallEvent:
    return decide(state_of(*events), now).recalls[0]


def test_a_search_is_open_then_changed_then_final() -> None:
    search, read, end = a_search("n/a.md"), a_read("n/a.md", at_s=5), an_end(at_s=9)

    phases = [recall_of(*events, now=T0).phase for events in ([search], [search, read], [search, read, end])]

    assert phases == ["open", "changed", "final"]


def test_revisions_rise_with_every_event_and_the_final_one_is_odd() -> None:
    search, read, end = a_search("n/a.md"), a_read("n/a.md", at_s=5), an_end(at_s=9)

    revisions = [recall_of(*events, now=T0).revision for events in ([search], [search, read], [search, read, end])]

    assert revisions == [2, 4, 7]


def test_a_window_closes_by_a_call_behind_both_bounds() -> None:
    calls = [a_call("TodoWrite", at_s=index, use=f"t{index}") for index in range(1, 21)]

    still = recall_of(a_search("n/a.md"), *calls, now=T0)
    closed = recall_of(a_search("n/a.md"), *calls, a_call("TodoWrite", at_s=301, use="late"), now=T0)

    assert (still.phase, still.calls_in_window) == ("open", 20)
    assert (closed.phase, closed.closed_by, closed.calls_in_window) == ("final", "window", 20)


def test_a_silent_invocation_is_closed_by_event_time() -> None:
    state = state_of(a_search("n/a.md"))
    idle = T0 + DEFAULT_POLICY.idle_timeout

    assert not is_closed(state, idle - timedelta(seconds=1))
    assert is_closed(state, idle)
    assert decide(state, idle).recalls[0].closed_by == "idle"


def test_an_end_closes_at_once_and_a_later_call_reopens() -> None:
    ended = state_of(a_search("n/a.md"), an_end(at_s=9))

    assert is_closed(ended, T0)
    assert is_closed(evolve(ended, a_read("n/a.md", at_s=69)), T0)
    assert not is_closed(evolve(ended, a_read("n/a.md", at_s=70)), T0)


def test_the_latest_of_several_ends_counts() -> None:
    first, last = an_end(at_s=9, reason="end_of_source"), an_end(at_s=500, reason="stop")
    events: list[ToolEvent] = [a_search("n/a.md"), a_read("n/a.md", at_s=400), first, last]

    assert is_closed(state_of(*events), T0)
    forward, backward = decide(state_of(*events), T0), decide(state_of(*reversed(events)), T0)
    assert (forward, forward.trajectory) == (backward, backward.trajectory)


def test_a_late_read_makes_one_more_revision() -> None:
    search, end, read = a_search("n/a.md"), an_end(at_s=9), a_read("n/a.md", at_s=5)

    before, after = recall_of(search, end), recall_of(search, end, read)

    assert before.abandoned
    assert [each.anchor for each in after.consumed] == ["n/a.md"]
    assert after.revision == before.revision + 2
    assert is_news(before, after)
    assert not is_news(after, before)


def test_a_finished_observation_beats_an_interrupted_one_in_any_order() -> None:
    open_call = a_read("n/a.md", at_s=5, use="r", adapter="claude-transcript", status=ToolStatus.INTERRUPTED)
    finished = a_read("n/a.md", at_s=5, use="r", adapter="claude-hooks", ended_at=at(7), status=ToolStatus.OK)

    one = recall_of(a_search("n/a.md"), open_call, finished)
    other = recall_of(a_search("n/a.md"), finished, open_call)

    assert one == other
    assert [each.tool_use_id for each in one.consumed] == ["r"]


def test_observations_complete_each_other() -> None:
    hook = a_search("n/a.md", use="s", adapter="claude-hooks", ended_at=at(1))
    transcript = a_call(
        "search_evidence",
        {"query": "kiln"},
        use="s",
        adapter="claude-transcript",
        tokens=TokenCost(result=300, query=2, quality="native"),
    )

    recall = recall_of(transcript, hook)

    assert (len(recall.candidates), recall.tokens_result, recall.ended_at) == (1, 300, at(1))


def test_an_error_is_said_only_on_evidence_and_then_wins() -> None:
    good = a_read("n/a.md", at_s=5, use="r", adapter="claude-transcript")
    failed = a_read("n/a.md", at_s=5, use="r", adapter="claude-hooks", status=ToolStatus.ERROR)

    recall = recall_of(a_search("n/a.md"), good, failed)

    assert recall.consumed == ()
    assert [each.anchor for each in recall.clicked] == ["n/a.md"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tokens": TokenCost(result=400, query=6, quality="native")}, (400, 6, "native")),
        ({"tokens": TokenCost(result=400, quality="estimated")}, (400, 1, "estimated")),
        ({"result_bytes": 4_000}, (1_000, 1, "estimated")),
        ({}, (None, 1, "unknown")),
    ],
)
def test_the_cost_of_a_search_is_never_a_constant_zero(
    fields: dict[str, Any], expected: tuple[int | None, int, str]
) -> None:
    recall = recall_of(a_search("n/a.md", query="kiln", **fields))

    assert (recall.tokens_result, recall.tokens_query, recall.tokens_quality) == expected


def test_clock_skew_is_clamped_and_told() -> None:
    search = a_search("n/a.md", at_s=10, ended_at=at(8))
    first, second = a_read("n/a.md", at_s=30, turn_index=1), a_read("n/b.md", at_s=20, turn_index=2)

    recall = recall_of(search, first, second)

    assert recall.clock_skew_ms == 10_000
    assert recall.consumed[0].elapsed_ms == 20_000


def test_dwell_is_from_the_end_of_the_read_to_the_next_start() -> None:
    read = a_read("n/a.md", at_s=4, ended_at=at(4.5))

    later = recall_of(a_search("n/a.md"), read, a_call("Edit", {"file_path": "q"}, at_s=9.5))
    together = recall_of(a_search("n/a.md"), read, a_call("Edit", {"file_path": "q"}, at_s=4.2))

    assert later.consumed[0].dwell_ms == 5_000
    assert together.consumed[0].dwell_ms == 0
    assert recall_of(a_search("n/a.md"), read).consumed[0].dwell_ms is None


def test_another_policy_judges_the_same_events_anew() -> None:
    calls = [a_call("TodoWrite", at_s=400 + index, use=f"t{index}") for index in range(30)]
    state = state_of(a_search("n/a.md"), *calls, a_read("n/a.md", at_s=500))

    strict = decide(state, END_OF_TIME).recalls[0]
    coding = decide(state, END_OF_TIME, policy=CorrelatorPolicy(window=CODING_V1)).recalls[0]

    assert strict.consumed == ()
    assert (coding.consumed[0].distance, coding.window_policy) == (31, "coding-v1")


def test_an_unknown_window_policy_is_refused() -> None:
    assert policy_named("coding-v1") is CODING_V1
    with pytest.raises(ValueError, match="compound-v1"):
        policy_named("endless")


def test_a_trajectory_tells_the_way_from_search_to_check() -> None:
    events: list[ToolEvent] = [
        a_start(at_s=-1, prompt="stop the queue from starving"),
        a_search("n/a.md"),
        a_read("/r/n/a.md", at_s=5),
        a_call("Edit", {"file_path": "/r/src/k.py"}, at_s=9),
        a_call("Bash", {"command": "pytest -q"}, at_s=12, ended_at=at(20)),
        an_end(at_s=21, usage=Usage(output=900)),
    ]

    (recall,), (found,) = correlate(events)

    assert [step.kind for step in found.steps] == ["search", "read", "edit", "verify"]
    assert [step.recall_id for step in found.steps] == [recall.recall_id, recall.recall_id, None, None]
    assert (found.files_read, found.files_modified) == (("/r/n/a.md",), ("/r/src/k.py",))
    assert (found.task_context, found.tokens_output) == ("stop the queue from starving", 900)
    assert found.duration_ms == timedelta(seconds=21) // timedelta(milliseconds=1)
    assert [signal.signal for signal in found.signals] == ["invocation_succeeded"]
    assert not found.output_verified


def test_a_long_open_invocation_reports_its_trajectory_when_it_is_closed() -> None:
    calls = [a_call("TodoWrite", at_s=index, use=f"t{index}") for index in range(1, 300)]
    state = state_of(a_search("n/a.md"), *calls)

    assert decide(state, T0).trajectory is None
    assert decide(state, END_OF_TIME).trajectory is not None


def test_another_agents_calls_are_not_in_the_trajectory() -> None:
    events = [a_search("n/a.md"), a_read("n/b.md", at_s=3, agent="a2"), a_read("n/c.md", at_s=4, agent="a1/sub")]

    (found,) = correlate(events)[1]

    assert found.files_read == ("n/c.md",)


def test_an_invocation_without_a_search_has_no_trajectory() -> None:
    assert correlate([a_read("n/a.md"), an_end(at_s=3)]) == ([], [])
    assert correlate([a_start(), an_end(at_s=3)]) == ([], [])


def test_what_the_sidecar_says_of_ranking_is_kept_as_it_was_said() -> None:
    said = {
        "base_order": ("a", "b"),
        "reranked_order": ("b", "a"),
        "other_order": ("a", "b"),
        "ranker_id": "spec-1",
        "ranker_mode": "interleave",
    }
    search = a_call("search_evidence", {"query": "kiln"}, recall=outcome(candidates("n/a.md"), **said))

    recall = recall_of(search, an_end(at_s=9))

    assert {name: getattr(recall, name) for name in said} == said
