"""Traps that users of neighbouring tools have reported in public: each once, by its trap."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from producers.adapters import adapter_for, claude_code, codex, hooks, otlp
from producers.client import Publisher
from producers.job import import_paths
from producers.store import Ledger
from producers.translation import SourceFile, Translation
from streams import codec
from streams.events import InvocationEnded, InvocationStarted, ToolCalled, ToolStatus
from streams.recall import ResultStatus
from streams.testing import LocalLog
from streams.topics import TOOL_EVENTS
from tests.producers.claude import SESSION, call, line, prompt, result, transcript
from tests.producers.test_adapters import EXAMPLES

WRITTEN = datetime(2026, 3, 2, tzinfo=UTC)


def _claude(*lines: dict[str, Any]) -> Translation:
    return claude_code.translate([SourceFile(f"{SESSION}.jsonl", transcript(lines))])


def _calls(translation: Translation) -> list[ToolCalled]:
    return [event for event in translation.events if isinstance(event, ToolCalled)]


def _prompts(translation: Translation) -> dict[str, str]:
    return {event.invocation_id: event.prompt for event in translation.events if isinstance(event, InvocationStarted)}


def test_two_terminals_that_write_one_file_keep_their_calls_apart() -> None:
    translation = _claude(
        prompt("left", uuid="p1"),
        prompt("right", uuid="p2"),
        call("toolu_01", "Bash", {"command": "left"}, parent="p1"),
        call("toolu_02", "Bash", {"command": "right"}, parent="p2"),
        result("toolu_01", parent="a-toolu_01"),
        call("toolu_03", "Bash", {"command": "left"}, parent="r-toolu_01"),
    )

    prompts = _prompts(translation)
    assert [prompts[one.invocation_id] == one.input["command"] for one in _calls(translation)] == [True] * 3


def test_a_chain_that_runs_in_a_circle_ends() -> None:
    translation = _claude(
        prompt("go", uuid="p1", parent="a-toolu_01"), call("toolu_01", "Bash", {"command": "ls"}, parent="p1")
    )

    assert len(_calls(translation)) == 1


def test_a_line_with_a_broken_time_takes_that_of_the_line_before_and_one_without_any_is_dead() -> None:
    early, late = prompt("no time yet", uuid="p0"), call("toolu_01", "Bash", {"command": "ls"})
    early["timestamp"], late["timestamp"] = "yesterday", "0000"

    translation = _claude(early, prompt("go", uuid="p1", at="10:00:00"), late)

    (only,) = _calls(translation)
    assert only.occurred_at == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert [(problem.line, problem.kind) for problem in translation.problems] == [(1, "dead")]


def test_after_a_sleep_calls_of_one_instant_keep_the_order_in_which_they_stand() -> None:
    calls = _calls(_claude(prompt(), *(call(f"toolu_{9 - n}", "Bash", {"command": str(n)}) for n in range(5))))

    ordered = sorted(calls, key=lambda one: (one.occurred_at, one.turn_index, one.tool_use_id))
    assert [one.input["command"] for one in ordered] == ["0", "1", "2", "3", "4"]


def test_usage_is_counted_once_although_the_request_id_is_empty() -> None:
    same: dict[str, Any] = {"message_id": "m1", "requestId": "", "usage": 30}

    translation = _claude(
        prompt(),
        call("toolu_01", "Bash", {"command": "a"}, **same),
        call("toolu_02", "Bash", {"command": "b"}, **same),
    )

    assert next(iter(translation.files.values())).tokens_output == 30


def test_what_a_program_without_a_model_wrote_costs_nothing() -> None:
    message = {"id": "s", "model": "<synthetic>", "content": [], "usage": {"output_tokens": 500}}

    translation = _claude(prompt(), line("assistant", uuid="a", message=message))

    assert next(iter(translation.files.values())).tokens_output is None


def test_a_result_in_pieces_is_read_like_one_in_one_piece() -> None:
    pieces = [
        {"type": "text", "text": "src/a.py:1:x"},
        {"type": "image", "source": {}},
        {"type": "text", "text": "src/b.py:2:x"},
    ]

    (grep,) = _calls(
        _claude(
            prompt(), call("toolu_01", "Grep", {"pattern": "x", "output_mode": "content"}), result("toolu_01", pieces)
        )
    )

    assert grep.recall is not None
    assert [one.anchor for one in grep.recall.candidates] == ["src/a.py", "src/b.py"]


def _hook(kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "session_id": "77aa2c3e-1111-4222-8333-944455556666",
        "hook_event_name": kind,
        "tool_name": "Read",
        "tool_input": {"file_path": "/a.md"},
        "received_at": "2026-03-01T10:00:00Z",
    } | fields


def test_hooks_of_before_ids_are_joined_by_their_place_among_equal_calls() -> None:
    rows = [
        _hook("PreToolUse"),
        _hook("PreToolUse"),
        _hook("PostToolUse", tool_response="first"),
        _hook("PostToolUse", tool_response="second"),
    ]
    data = json.dumps(rows).encode()

    first, again = (_calls(hooks.CLAUDE_HOOKS.translate([SourceFile(uri, data, WRITTEN)])) for uri in ("a", "b"))

    assert [(one.status, one.id_quality) for one in first] == [(ToolStatus.OK, "synthetic")] * 2
    assert len({one.tool_use_id for one in first}) == 2
    assert [one.event_id for one in first] == [one.event_id for one in again]


def test_a_compaction_counts_once_whichever_of_its_hooks_are_logged() -> None:
    both = [_hook("PreCompact"), _hook("SessionStart", source="compact")]
    for hooks_of_it in (both, both[:1], both[1:]):
        rows = [*hooks_of_it, _hook("PreToolUse", tool_use_id="toolu_01")]

        translation = hooks.CLAUDE_HOOKS.translate([SourceFile("h.json", json.dumps(rows).encode(), WRITTEN)])

        assert _calls(translation)[0].context_epoch == 1


def test_a_batch_adds_what_the_model_saw_to_what_the_tool_said() -> None:
    found = {"mode": "files_with_matches", "filenames": ["a.md", "b.md"], "numFiles": 2}
    one = {"tool_name": "Glob", "tool_input": {"pattern": "*.md"}, "tool_use_id": "toolu_01"}
    rows = [
        _hook("PostToolUse", **one, tool_response=found),
        _hook("PostToolBatch", tool_calls=[one | {"tool_response": "a.md\nb.md"}]),
    ]

    (glob,) = _calls(hooks.CLAUDE_HOOKS.translate([SourceFile("h.json", json.dumps(rows).encode(), WRITTEN)]))

    assert glob.recall is not None
    assert [candidate.anchor for candidate in glob.recall.candidates] == ["a.md", "b.md"]
    assert glob.result_bytes == len("a.md\nb.md")


def test_hooks_that_know_no_time_say_nothing_of_an_end() -> None:
    rows = [
        {name: value for name, value in _hook(kind).items() if name != "received_at"} for kind in ("PreToolUse", "Stop")
    ]

    translation = hooks.CLAUDE_HOOKS.translate([SourceFile("h.json", json.dumps(rows).encode(), WRITTEN)])

    assert len(_calls(translation)) == 1
    assert not any(isinstance(event, InvocationEnded) for event in translation.events)


def test_a_gemini_session_of_lines_is_not_taken_for_claudes_and_its_last_writing_wins() -> None:
    at = "2026-03-01T10:00:00Z"
    read = {
        "id": "read_file-1",
        "name": "read_file",
        "args": {"file_path": "/a.md"},
        "status": "success",
        "result": "x",
    }
    rows: list[dict[str, Any]] = [
        {"sessionId": "g", "projectHash": "00", "startTime": at, "kind": "main"},
        {"id": "u1", "timestamp": at, "type": "user", "content": [{"text": "look"}]},
        {"id": "m1", "timestamp": at, "type": "gemini", "content": "", "toolCalls": []},
        {"id": "m1", "timestamp": at, "type": "gemini", "content": "", "toolCalls": [read]},
    ]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    adapter = adapter_for("session-1.jsonl", data)

    assert adapter is not None
    (only,) = _calls(adapter.translate([SourceFile("session-1.jsonl", data)]))
    assert (adapter.name, only.tool, only.session_id) == ("gemini-session", "Read", "g")


def test_an_openhands_conversation_of_a_file_an_event_is_one_conversation(tmp_path: Path) -> None:
    source = (EXAMPLES / "openhands-events" / "conversation-1.jsonl").read_bytes().splitlines()
    for number, row in enumerate(source):
        (tmp_path / f"event-{number:05}-x.json").write_bytes(row)
    log, ledger = LocalLog(), Ledger(tmp_path / "ledger" / "ledger.sqlite")

    report = asyncio.run(import_paths([tmp_path], Publisher(log.emitter()), ledger))
    ledger.close()

    assert report.published == 5
    assert {record.key for record in log.records(TOOL_EVENTS.name)} == {tmp_path.name.encode()}


def _rollout(thread: str, start: str, *, forked_from: str = "", own: str = "") -> bytes:
    """A thread of one turn; a fork repeats its parent's items with its own times, then goes on."""
    meta = {"id": thread, "cwd": "/w"} | ({"forked_from_id": forked_from} if forked_from else {})
    rows: list[tuple[str, dict[str, Any]]] = [
        ("session_meta", meta),
        ("event_msg", {"type": "task_started", "turn_id": "t-1"}),
        ("event_msg", {"type": "user_message", "message": "look"}),
        ("response_item", _asked("a")),
        ("response_item", {"type": "function_call_output", "call_id": "call_" + "a" * 24, "output": "x"}),
    ]
    if own:
        rows += [("event_msg", {"type": "task_started", "turn_id": own}), ("response_item", _asked("b"))]
    lines = [{"timestamp": f"2026-03-01T{start}Z", "type": kind, "payload": payload} for kind, payload in rows]
    return b"".join(json.dumps(row).encode() + b"\n" for row in lines)


def _asked(letter: str) -> dict[str, Any]:
    return {
        "type": "function_call",
        "name": "exec_command",
        "arguments": '{"cmd": "ls"}',
        "call_id": "call_" + letter * 24,
    }


def test_a_codex_fork_that_repeats_its_parent_is_counted_once_in_its_parents_lineage(tmp_path: Path) -> None:
    (tmp_path / "rollout-parent.jsonl").write_bytes(_rollout("parent", "10:00:00"))
    fork = _rollout("fork", "11:00:00", forked_from="parent", own="t-2")
    (tmp_path / "rollout-fork.jsonl").write_bytes(fork)
    log, ledger = LocalLog(), Ledger(tmp_path / "ledger.sqlite")

    asyncio.run(import_paths([tmp_path], Publisher(log.emitter()), ledger))
    ledger.close()

    records = log.records(TOOL_EVENTS.name)
    events = [event for record in records for event in codec.decode(record.value or b"")[0]]
    calls = [event for event in events if isinstance(event, ToolCalled)]
    assert sorted(one.tool_use_id[5] for one in calls) == ["a", "b"]
    assert {one.occurred_at.hour for one in calls if one.tool_use_id[5] == "a"} == {10}
    assert {record.key for record in records} == {b"parent"}


def test_codex_totals_that_come_again_cost_nothing_and_a_smaller_one_begins_anew() -> None:
    def total(output: int) -> tuple[str, dict[str, Any]]:
        usage = {"input_tokens": 0, "output_tokens": output, "total_tokens": output}
        return "event_msg", {"type": "token_count", "info": {"total_token_usage": usage}}

    rows = [
        ("session_meta", {"id": "t"}),
        ("event_msg", {"type": "task_started", "turn_id": "t-1"}),
        *(total(output) for output in (10, 10, 25, 25, 5)),
        ("event_msg", {"type": "token_count", "info": None}),
    ]
    lines = [{"timestamp": "2026-03-01T10:00:00Z", "type": kind, "payload": payload} for kind, payload in rows]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in lines)

    translation = codex.translate([SourceFile("rollout.jsonl", data)])

    assert translation.files["rollout.jsonl"].tokens_output == 30


def _span(span_id: str, parent: str, **attributes: str) -> dict[str, Any]:
    return {
        "traceId": "a" * 32,
        "spanId": span_id * 16,
        "parentSpanId": parent * 16,
        "name": span_id,
        "startTimeUnixNano": "1770000000000000000",
        "endTimeUnixNano": "1770000001000000000",
        "attributes": [
            {"key": name.replace("__", "."), "value": {"stringValue": value}} for name, value in attributes.items()
        ],
    }


def _trace(*spans: dict[str, Any]) -> Translation:
    request = {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}
    return otlp.translate([SourceFile("t.json", json.dumps(request).encode())])


def test_an_mcp_request_below_a_tool_call_is_not_another_call() -> None:
    translation = _trace(
        _span(
            "1",
            "",
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="search",
            gen_ai__tool__call__id="call_0",
        ),
        _span("2", "1", mcp__method__name="tools/call", gen_ai__tool__name="search"),
        _span("3", "2", mcp__method__name="tools/call", gen_ai__tool__name="search"),
    )

    assert [one.tool_use_id for one in _calls(translation)] == [f"{'a' * 32}:{'1' * 16}"]


def test_a_call_id_that_two_agents_use_names_two_calls() -> None:
    tool = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "x", "gen_ai__tool__call__id": "call_0"}

    translation = _trace(
        _span("1", "", gen_ai__operation__name="invoke_agent"),
        _span("2", "1", **tool),
        _span("3", "", gen_ai__operation__name="invoke_agent"),
        _span("4", "3", **tool),
    )

    assert len({one.event_id for one in _calls(translation)}) == 2


def test_a_trace_is_one_invocation_whichever_of_its_spans_a_request_holds() -> None:
    tool = _span("2", "1", gen_ai__operation__name="execute_tool", gen_ai__tool__name="x")
    root = _span("1", "", gen_ai__operation__name="invoke_agent", gen_ai__conversation__id="c-1")

    (alone,), (together,) = _calls(_trace(tool)), _calls(_trace(tool, root))

    assert (alone.event_id, alone.invocation_id) == (together.event_id, together.invocation_id)


def test_a_retriever_whose_documents_are_hidden_showed_nobody_knows_what() -> None:
    hidden, empty = _calls(
        _trace(
            _span("1", "", openinference__span__kind="RETRIEVER", input__value="q"),
            _span("2", "", openinference__span__kind="RETRIEVER", input__value="q", output__value="[]"),
        )
    )

    assert hidden.recall is not None
    assert empty.recall is not None
    assert (hidden.recall.result_status, hidden.recall.result_count) == (ResultStatus.RESULT_UNMERGED, None)
    assert (empty.recall.result_status, empty.recall.result_count) == (ResultStatus.NO_RESULTS, 0)
