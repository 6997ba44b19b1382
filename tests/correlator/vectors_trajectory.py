"""Adapter of the area `trajectory`: trajectories, signals, fixtures."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from correlator.fixture import Fixture, evaluate
from correlator.offline import correlate
from correlator.signals import PullRequest, checks_passed, is_merged, signal_named, with_signals
from correlator.trajectory import by_thread
from correlator.usage import consumed_but_not_used_rate, effort_deviation
from streams.events import MessagePosted, OutcomeSignalled, ToolEvent
from streams.recall import Step, TaskTrajectory
from tests.correlator.builders import a_call, a_search, a_start, an_end, at, identity, outcome

Record = dict[str, Any]
LATE = 1_000_000
"""Where messages without a time stand: after the work, in their own order."""


def trajectory(given: Record) -> Record:
    for key, answer in BY_KEY.items():
        if key in given:
            return answer(given)
    return {}


def _search(index: int = 0, **changes: Any) -> ToolEvent:
    event = a_search("notes/a.md", at_s=index, use=f"u{index}", query=changes.pop("query", f"q{index}"))
    return msgspec.structs.replace(event, **changes)


def a_trajectory(**changes: Any) -> TaskTrajectory:
    (found,) = correlate([_search()])[1]
    return msgspec.structs.replace(found, **changes)


def of_events(given: Record) -> Record:
    from tests.correlator.vectors import concluded

    _, found = concluded(given)
    first = found[0] if found else None
    return {
        "count": len(found),
        "files_read": list(first.files_read) if first else [],
        "files_modified": list(first.files_modified) if first else [],
        "duration_ms": first.duration_ms if first else None,
        "output_verified": first.output_verified if first else None,
    }


def of_rows(given: Record) -> Record:
    rows = given["recall_rows"]
    events: list[ToolEvent] = []
    names: dict[str, str] = {}
    for index, row in enumerate(rows):
        event = a_call(
            "search_evidence", {"query": row.get("query", "")}, at_s=row.get("t", index), use=row.get("id", f"r{index}")
        )
        tokens = msgspec.structs.replace(event.tokens, result=row.get("token_cost"), query=0, quality="native")
        events.append(msgspec.structs.replace(event, tokens=tokens, recall=outcome(())))
    if "mention_text" in given:
        events.append(a_start(prompt=given["mention_text"], at_s=-1))
    recalls, (found,) = correlate(events)
    names = {recall.recall_id: recall.tool_use_id for recall in recalls}
    return {
        "task_context": found.task_context,
        "total_token_cost": found.tokens_search,
        "search_chain": [names[recall_id] for recall_id in found.recall_ids],
    }


def of_runs(given: Record) -> Record:
    events = [
        msgspec.structs.replace(
            a_search("notes/a.md", at_s=index, use=f"u{index}", invocation=run["inv"]), thread_id=run["thread"]
        )
        for index, run in enumerate(given["runs"])
    ]
    _, found = correlate(events)
    if "filter" in given:
        return {"count": sum(each.invocation_id == given["filter"]["inv"] for each in found)}
    return {thread: len(runs) for thread, runs in by_thread(found).items()}


def a_signal(name: str, **changes: Any) -> OutcomeSignalled:
    fields = {**identity("v1", "outside", LATE, "signal", name), **changes}
    return OutcomeSignalled(**fields, signal=signal_named(name), actor="outside")


def of_signals(given: Record) -> Record:
    names = list(given["signals"])
    events: list[ToolEvent] = [_search()]
    if "invocation_succeeded" in names:
        events.append(an_end(at_s=1))
        names.remove("invocation_succeeded")
    (found,) = correlate(events)[1]
    return {"output_verified": with_signals(found, [a_signal(name) for name in names]).output_verified}


def of_injection(given: Record) -> Record:
    found = a_trajectory()
    found = with_signals(found, [a_signal(name) for name in given.get("existing", ())])
    try:
        found = with_signals(found, [a_signal(name) for name in given["inject"]])
    except ValueError:
        return {"http_status": 400}
    names = sorted(each.signal for each in found.signals)
    return {"signals": names, "signals_set": names, "http_status": 200, "output_verified": found.output_verified}


def of_invocation(given: Record) -> Record:
    run = given["invocation"]
    reason = "stop" if run["status"] in ("succeeded", "success", "ok") else "interrupted"
    events = [_search(index) for index in range(run["recall_rows"])]
    (found,) = correlate([*events, an_end(at_s=100, reason=reason)])[1]
    return {"signals": [each.signal for each in found.signals]}


def of_messages(given: Record) -> Record:
    author = given.get("author", "agent-a")
    edits = given.get("modifications_at", [])
    steps = tuple(Step(kind="edit", at=at(t), tool="Edit", tool_use_id=f"e{t}") for t in edits)
    start = at(given.get("trajectory_started_at", 0))
    found = a_trajectory(agent_id=author, steps=steps, started_at=start, thread_id="t")
    messages = [_message(record, index) for index, record in enumerate(given["messages"])]
    said = with_signals(found, messages=messages)
    return {"signal_present": any(each.signal == given["signal"] and each.verifies for each in said.signals)}


def _message(record: Record, index: int) -> MessagePosted:
    kind: Literal["operator", "agent", "connector"] = "operator" if record["from"] == "human" else "agent"
    if record.get("connector"):
        kind = "connector"
    fields = {**identity("v1", record["from"], record.get("t", LATE + index), "message", index), "thread_id": "t"}
    return MessagePosted(**fields, message_id=str(index), author_kind=kind, text=record["text"])


def of_pull_requests(given: Record) -> Record:
    tracked = [
        PullRequest(
            number=task.get("pr", ""),
            status=task["status"],
            state=task.get("pr_state"),
            bucket=task.get("bucket"),
            head=task.get("head"),
            fingerprint=task.get("fingerprint"),
        )
        for task in given["pr_tasks"]
    ]
    ask = is_merged if given["signal"] == "pr_merged" else checks_passed
    return {"signal_present": ask(tracked, given.get("trajectory_pr"))}


def of_groups(given: Record) -> Record:
    return {"cross_agent_effort_variance": effort_deviation(given["groups"].values())}


def of_output(given: Record) -> Record:
    rate = consumed_but_not_used_rate(given["consumed"], given["output_text"], given.get("anchor_paths"))
    return {"consumed_but_not_used_rate": rate}


def of_fixture(given: Record) -> Record:
    raw = given["fixture"]
    fixture = Fixture(
        query=raw.get("query", ""),
        expected=raw.get("expected", ""),
        k=raw.get("k", 10),
        negative=raw.get("negative", ""),
    )
    found = evaluate(fixture, given.get("results", []))
    return {"kind": fixture.kind, "hit": found.hit, "rank": found.rank, "guard_violated": found.guard_violated}


BY_KEY = {
    "events": of_events,
    "messages": of_messages,
    "pr_tasks": of_pull_requests,
    "inject": of_injection,
    "signals": of_signals,
    "invocation": of_invocation,
    "runs": of_runs,
    "recall_rows": of_rows,
    "groups": of_groups,
    "consumed": of_output,
    "fixture": of_fixture,
}
