"""The sidecar: what is written is read back, what contradicts itself is nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams import outcome
from streams.recall import (
    Candidate,
    DocRef,
    InvocationRef,
    PassageRef,
    PreviewItem,
    RecallOutcome,
    ResultStatus,
    SessionRef,
    TargetRef,
    ThreadRef,
)


def counted(**changes: Any) -> RecallOutcome:
    fields: dict[str, Any] = {"result_status": ResultStatus.COUNTED, "result_count": 1, **changes}
    return RecallOutcome(**fields)


@given(st.text(), st.text())
def test_what_is_rendered_is_read_back_whatever_the_text(body: str, value: str) -> None:
    candidate = Candidate(anchor="D1", rank=1, target=DocRef(path=value), title=value)
    said = counted(query=value, candidates=(candidate,), preview_items=(PreviewItem(snippet=value),))

    assert outcome.parse(outcome.with_sidecar(body, said)) == said


def test_a_closing_tag_inside_a_value_is_escaped() -> None:
    line = outcome.render(counted(query="a </recall-meta> b"))

    assert line.count("</recall-meta>") == 1
    assert "\n" not in line


def test_the_sidecar_is_not_shown_to_people() -> None:
    assert outcome.without_sidecar(outcome.with_sidecar("two lines\nof text", counted())) == "two lines\nof text"


def test_a_text_without_a_sidecar_stays_as_it_is() -> None:
    assert outcome.without_sidecar("plain  ") == "plain  "


def test_a_runtime_notice_may_follow_and_prose_may_not() -> None:
    line = outcome.render(counted())

    assert outcome.parse(f"{line}\n<system-reminder>todo list is empty</system-reminder>") == counted()
    assert outcome.parse(f"{line}\nand a snippet that quoted it") is None


def test_an_opening_tag_quoted_earlier_does_not_disturb() -> None:
    assert outcome.parse(f"> a <recall-meta> in a document\n{outcome.render(counted())}") == counted()


@pytest.mark.parametrize(
    "fields",
    [
        {"result_status": "counted", "result_count": 0},
        {"result_status": "counted"},
        {"result_status": "counted", "result_count": 1.5},
        {"result_status": "counted", "result_count": True},
        {"result_status": "no_results"},
        {"result_status": "no_results", "result_count": 2},
        {"result_status": "no_results", "result_count": 0, "candidates": [{"anchor": "D1"}]},
        {"result_status": "error", "result_count": 3},
        {"result_status": "timeout", "result_count": 0},
        {"result_status": "overflow"},
        {"result_status": "splendid", "result_count": 1},
        {"result_status": "counted", "result_count": 1, "schema_version": 9},
        {"result_status": "counted", "result_count": 1, "candidates": [{"rank": 1}]},
        {"result_status": "counted", "result_count": 1, "candidates": [{"anchor": "D1", "rank": 0}]},
        {"result_status": "counted", "result_count": 1, "candidates": "D1"},
        {"result_count": 1},
        [],
        "counted",
    ],
)
def test_what_contradicts_itself_is_no_outcome(fields: Any) -> None:
    assert outcome.from_fields(fields) is None


def test_a_contradiction_cannot_be_rendered() -> None:
    with pytest.raises(ValueError, match="count None"):
        outcome.render(RecallOutcome(result_status=ResultStatus.COUNTED))


def test_camel_case_without_a_version_is_understood() -> None:
    said = outcome.from_fields(
        {
            "resultStatus": "counted",
            "resultCount": 2,
            "effectiveMode": "lexical",
            "candidates": [
                {"anchor": "D1", "docKind": "plan", "sourcePath": "plans/d1.md", "score": 0.5},
                {"anchor": "x", "rank": 2, "targetRef": {"kind": "invocation", "sessionId": "s", "invocationId": "i"}},
            ],
        }
    )

    assert said is not None
    assert (said.result_count, said.effective_mode) == (2, "lexical")
    assert said.candidates == (
        Candidate(
            anchor="D1",
            rank=1,
            doc_kind="plan",
            score={"total": 0.5},
            target=DocRef(path="plans/d1.md", anchor="D1"),
        ),
        Candidate(anchor="x", rank=2, target=InvocationRef(session_id="s", invocation_id="i")),
    )


def test_structured_content_carries_it_beside_the_tools_own_fields() -> None:
    content = {"items": [1, 2], "recall_meta": outcome.to_fields(counted(query="q"))}

    assert outcome.from_structured(content) == counted(query="q")
    assert outcome.from_structured({"items": []}) is None
    assert outcome.from_structured(None) is None


def test_an_overflow_keeps_its_preview_and_no_count() -> None:
    said = outcome.from_fields({"result_status": "overflow", "result_count": 900, "preview_items": [{"title": "one"}]})

    assert said is not None
    assert (said.result_count, said.preview_items) == (None, (PreviewItem(title="one"),))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"shown": 3}, ("counted", 3)),
        ({"shown": 3, "total": 40}, ("counted", 40)),
        ({"shown": 0}, ("no_results", 0)),
        ({"shown": 0, "total": 3, "offset": 10}, ("counted", 3)),
        ({"shown": 0, "offset": 10}, ("error", None)),
        ({"shown": 0, "total": 0, "offset": 10}, ("no_results", 0)),
        ({"shown": 0, "timed_out": True}, ("timeout", None)),
        ({"shown": 2, "timed_out": True}, ("counted", 2)),
        ({"shown": 0, "degraded": True}, ("error", None)),
        ({"shown": 2, "degraded": True}, ("counted", 2)),
        ({"shown": 2, "failed": True}, ("error", None)),
    ],
)
def test_a_zero_is_only_said_by_a_search_that_looked_everywhere(
    answer: dict[str, Any], expected: tuple[str, int | None]
) -> None:
    assert outcome.settle(**answer) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ((None, None), ("legacy_unknown", None)),
        ((None, 0), ("no_results", 0)),
        ((None, 4), ("counted", 4)),
        (("counted", 4), ("counted", 4)),
        (("counted", None), ("legacy_unknown", None)),
        (("error", 4), ("error", None)),
        (("fine", 4), ("legacy_unknown", None)),
    ],
)
def test_an_old_row_says_no_more_than_it_wrote(
    row: tuple[str | None, int | None], expected: tuple[str, int | None]
) -> None:
    assert outcome.settle_stored(*row) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"anchor": "D1", "path": "a.md"}, DocRef(path="a.md", anchor="D1")),
        ({"anchor": "D1"}, DocRef(anchor="D1")),
        ({"anchor": "thread-9"}, ThreadRef(thread_id="9")),
        ({"anchor": "thread-9", "doc_kind": "thread-digest"}, ThreadRef(thread_id="9")),
        ({"anchor": "thread-safety", "path": "a.md"}, DocRef(path="a.md", anchor="thread-safety")),
        ({"anchor": "thread-safety", "doc_kind": "lesson"}, DocRef(anchor="thread-safety")),
        ({"anchor": "session-7", "doc_kind": "session"}, SessionRef(session_id="7")),
        ({"anchor": "msg-7"}, PassageRef(passage_id="msg-7")),
        ({"anchor": "x", "session_id": "s", "thread_id": "t"}, SessionRef(session_id="s")),
        ({"anchor": "x", "session_id": "s", "invocation_id": "i"}, InvocationRef(session_id="s", invocation_id="i")),
        ({"anchor": "x", "invocation_id": "i", "thread_id": "t"}, ThreadRef(thread_id="t")),
        (
            {"anchor": "x", "passage_id": "p", "thread_id": "t", "session_id": "s"},
            PassageRef(passage_id="p", thread_id="t"),
        ),
    ],
)
def test_a_result_opens_its_most_specific_target(raw: dict[str, Any], expected: TargetRef) -> None:
    assert outcome.target_of(**raw) == expected


def test_a_deeply_nested_sidecar_is_no_outcome() -> None:
    assert outcome.parse(f"<recall-meta>{'[' * 100_000}</recall-meta>") is None
