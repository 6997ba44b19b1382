"""What verifies work, and what people mean by their words."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest

from correlator.offline import correlate
from correlator.signals import with_signals
from correlator.wording import polarity
from streams.events import MessagePosted, OutcomeSignalled
from streams.recall import TaskTrajectory
from tests.correlator.builders import a_call, a_search, identity


def a_trajectory(edited_at: float = 10) -> TaskTrajectory:
    events = [a_search("n/a.md"), a_call("Edit", {"file_path": "k.py"}, at_s=edited_at)]
    (found,) = correlate([msgspec.structs.replace(event, thread_id="t") for event in events])[1]
    return found


def said(
    text: str,
    *,
    at_s: float = 60,
    by: str = "kim",
    kind: Literal["operator", "agent", "connector", "system"] = "operator",
    thread: str = "t",
) -> MessagePosted:
    fields: dict[str, Any] = {**identity("v1", by, at_s, "said", text), "thread_id": thread}
    return MessagePosted(**fields, message_id=f"m{at_s}", author_kind=kind, text=text)


def signalled(
    name: Literal["pr_merged", "ci_passed", "operator_accepted", "reviewer_approved", "reverted", "rejected"],
    *,
    at_s: float = 60,
    actor: str = "forge",
) -> OutcomeSignalled:
    fields: dict[str, Any] = {**identity("v1", actor, at_s, name), "thread_id": "t"}
    return OutcomeSignalled(**fields, signal=name, actor=actor)


@pytest.mark.parametrize(
    "text",
    [
        "merge it",
        "好的",
        "可以合入",
        "Looks good to me!",
        "测试补完了，可以合入",
        "R2: LGTM",
        "no problem",
        "Approved. Nice work.",
        "👍",
    ],
)
def test_assent_is_assent(text: str) -> None:
    assert polarity(text) == "accept"


@pytest.mark.parametrize(
    "text",
    [
        "不通过",
        "不可以合入",
        "not approved",
        "this is not yet approved",
        "don't merge",
        "please revert",
        "stop, no",
        "先别合",
        "needs changes",
    ],
)
def test_a_refusal_is_a_refusal(text: str) -> None:
    assert polarity(text) == "refuse"


@pytest.mark.parametrize("text", ["LGTM, but rename the flag", "没问题，不过先改名", "approved, however the docs lag"])
def test_assent_with_a_but_takes_itself_back(text: str) -> None:
    assert polarity(text) == "refuse"


@pytest.mark.parametrize(
    "text",
    [
        "ready to merge?",
        "可以合入吗",
        "应该可以合入吧",
        "如果测试绿了就合入",
        "merge it once CI is green",
        "流水线通过了",
        "好的，我看看",
        "",
        "kiln",
    ],
)
def test_questions_hedges_conditions_and_talk_say_nothing(text: str) -> None:
    assert polarity(text) != "accept"


def test_acceptance_after_the_last_change_verifies() -> None:
    found = with_signals(a_trajectory(), messages=[said("LGTM")])

    assert found.output_verified
    assert [(each.signal, each.actor, each.evidence) for each in found.signals] == [("operator_accepted", "kim", "m60")]


@pytest.mark.parametrize(
    "message",
    [
        said("LGTM", at_s=5),
        said("LGTM", thread="another"),
        said("LGTM", kind="connector"),
        said("LGTM", by="a1", kind="agent"),
        said("LGTM", by="a1/sub", kind="agent"),
    ],
)
def test_before_the_change_elsewhere_by_bots_or_by_the_author_nothing_is_verified(message: MessagePosted) -> None:
    assert not with_signals(a_trajectory(), messages=[message]).output_verified


def test_a_later_refusal_takes_words_back_and_not_the_merge() -> None:
    accepted, refused = said("LGTM"), said("on reflection, not approved", at_s=90)

    assert not with_signals(a_trajectory(), messages=[accepted, refused]).output_verified
    assert with_signals(a_trajectory(), [signalled("pr_merged")], [accepted, refused]).output_verified


def test_a_revert_takes_everything_back_and_a_new_acceptance_stands() -> None:
    signals = [signalled("pr_merged"), signalled("reverted", at_s=70)]

    assert not with_signals(a_trajectory(), signals).output_verified
    assert with_signals(a_trajectory(), [*signals, signalled("pr_merged", at_s=80)]).output_verified


def test_signals_are_added_once_in_any_order_and_never_lost() -> None:
    one, two = signalled("ci_passed"), signalled("pr_merged", at_s=70)

    together = with_signals(a_trajectory(), [one, two])
    stepwise = with_signals(with_signals(a_trajectory(), [two]), [one, two, one])

    assert together == stepwise
    assert together.revision == a_trajectory().revision + 4


def test_checks_of_before_the_last_change_prove_nothing() -> None:
    assert not with_signals(a_trajectory(edited_at=100), [signalled("ci_passed", at_s=60)]).output_verified
