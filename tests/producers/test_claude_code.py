"""Claude Code transcripts to events."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from producers.adapters import claude_code
from producers.translation import SourceFile, Translation
from streams.codec import LogEvent
from streams.events import InvocationEnded, InvocationStarted, ToolCalled, ToolStatus
from streams.recall import ResultStatus
from tests.producers.claude import READ_OF_A_HIT, SESSION, call, line, prompt, result, transcript


def _translate(*lines: dict[str, object], uri: str = f"{SESSION}.jsonl") -> Translation:
    return claude_code.translate([SourceFile(uri, transcript(lines))])


def _calls(events: tuple[LogEvent, ...]) -> list[ToolCalled]:
    return [event for event in events if isinstance(event, ToolCalled)]


def _ends(events: tuple[LogEvent, ...]) -> list[InvocationEnded]:
    return [event for event in events if isinstance(event, InvocationEnded)]


def test_a_search_and_a_read_of_its_hit_become_two_calls_of_one_invocation() -> None:
    grep, read = _calls(_translate(*READ_OF_A_HIT).events)

    assert grep.invocation_id == read.invocation_id
    assert grep.recall is not None
    assert [candidate.anchor for candidate in grep.recall.candidates] == ["src/retry.py", "src/net.py"]
    assert [touch.path for touch in read.touched] == ["/srv/app/src/net.py"]


def test_parallel_calls_that_answer_out_of_order_keep_their_own_results() -> None:
    first, second = _calls(
        _translate(
            prompt(),
            call("toolu_01", "Glob", {"pattern": "*.py"}),
            call("toolu_02", "Glob", {"pattern": "*.md"}),
            result("toolu_02", "/srv/app/b.md"),
            result("toolu_01", "/srv/app/a.py"),
        ).events
    )

    assert first.recall is not None
    assert second.recall is not None
    assert first.recall.candidates[0].anchor == "/srv/app/a.py"
    assert second.recall.candidates[0].anchor == "/srv/app/b.md"


def test_the_next_prompt_ends_an_invocation_and_starts_another() -> None:
    events = _translate(*READ_OF_A_HIT, prompt("now the docs", uuid="p2", at="10:05:00")).events

    assert [event.reason for event in _ends(events)] == ["next_prompt", "end_of_source"]
    assert [event.prompt for event in events if isinstance(event, InvocationStarted)] == [
        "fix the build",
        "now the docs",
    ]


def test_the_last_usage_of_a_message_counts_and_no_other() -> None:
    translation = _translate(
        prompt(),
        call("toolu_01", "Bash", {"command": "ls"}, usage=1, message_id="m1"),
        call("toolu_02", "Bash", {"command": "pwd"}, usage=40, message_id="m1"),
        result("toolu_01"),
        result("toolu_02"),
    )

    assert next(iter(translation.files.values())).tokens_output == 40
    usage = _ends(translation.events)[0].usage
    assert usage is not None
    assert usage.output == 40


def test_a_refused_call_is_denied_and_a_failed_one_an_error_with_its_exit_code() -> None:
    refused, failed = _calls(
        _translate(
            prompt(),
            call("toolu_01", "Write", {"file_path": "/a"}),
            result(
                "toolu_01", "The user doesn't want to proceed with this tool use. The tool use was rejected", error=True
            ),
            call("toolu_02", "Bash", {"command": "make"}),
            result("toolu_02", "Exit code 2\nmake: no rule", error=True),
        ).events
    )

    assert (refused.status, refused.error_kind) == (ToolStatus.DENIED, "user_rejected")
    assert (failed.status, failed.error_kind, failed.exit_code) == (ToolStatus.ERROR, "exit_code", 2)


def test_a_call_without_a_result_is_interrupted_and_gets_another_id_once_it_has_one() -> None:
    begun = (prompt(), call("toolu_01", "Bash", {"command": "make"}))

    (open_call,) = _calls(_translate(*begun).events)
    (finished,) = _calls(_translate(*begun, result("toolu_01")).events)

    assert (open_call.status, finished.status) == (ToolStatus.INTERRUPTED, ToolStatus.OK)
    assert open_call.tool_use_id == finished.tool_use_id
    assert open_call.event_id != finished.event_id


def test_ids_depend_neither_on_the_file_nor_on_the_line() -> None:
    here = _translate(*READ_OF_A_HIT).events
    there = _translate(line("mode", uuid="x"), *READ_OF_A_HIT, uri=f"copy/{SESSION}.jsonl").events

    assert [event.event_id for event in here] == [event.event_id for event in there]


def test_a_line_that_stands_twice_is_told_once() -> None:
    translation = _translate(*READ_OF_A_HIT, *READ_OF_A_HIT[1:])

    assert len(_calls(translation.events)) == 2
    assert next(iter(translation.files.values())).repeated == 4


def test_a_subagents_file_joins_the_invocation_that_started_it() -> None:
    main = transcript(
        [
            prompt(),
            call("toolu_01", "Task", {"prompt": "look around"}),
            result("toolu_01", "found", structured={"agentId": "a77"}, at="10:09:00"),
            prompt("thanks", uuid="p2", at="10:10:00"),
        ]
    )
    side: dict[str, Any] = {"isSidechain": True, "agentId": "a77", "at": "10:01:00"}
    sub = transcript(
        [
            prompt("look around", uuid="s1", **side),
            call("toolu_02", "Read", {"file_path": "/srv/app/x.md"}, parent="s1", **side),
            result("toolu_02", parent="a-toolu_02", **side),
        ]
    )

    events = claude_code.translate([SourceFile("agent-a77.jsonl", sub), SourceFile(f"{SESSION}.jsonl", main)]).events

    task, read = _calls(events)
    assert task.invocation_id == read.invocation_id
    assert (task.agent_id, read.agent_id) == ("claude-code", "claude-code/a77")
    assert [event.calls for event in _ends(events)] == [2, 0]


def test_a_compaction_raises_the_epoch_of_later_calls() -> None:
    before, after = _calls(
        _translate(
            prompt(),
            call("toolu_01", "Bash", {"command": "ls"}),
            result("toolu_01"),
            line("system", uuid="c1", subtype="compact_boundary", logicalParentUuid="r-toolu_01"),
            call("toolu_02", "Bash", {"command": "ls"}, parent="c1"),
            result("toolu_02"),
        ).events
    )

    assert (before.context_epoch, after.context_epoch) == (0, 1)
    assert before.invocation_id == after.invocation_id


@pytest.mark.parametrize(
    ("marks", "epochs"),
    [
        ([line("system", uuid="b", subtype="compact_boundary")], 1),
        ([line("user", uuid="s", isCompactSummary=True, message={"content": "This session is being continued"})], 1),
        (
            [
                line("system", uuid="b", subtype="compact_boundary"),
                line("user", uuid="s", isCompactSummary=True, message={"content": "This session is being continued"}),
            ],
            1,
        ),
        (
            [
                line("system", uuid="b", subtype="compact_boundary"),
                line("system", uuid="c", subtype="compact_boundary"),
            ],
            2,
        ),
    ],
    ids=["boundary", "summary", "both", "twice"],
)
def test_a_compaction_counts_once_however_it_is_written_down(marks: list[dict[str, Any]], epochs: int) -> None:
    (call_after,) = _calls(_translate(prompt(), *marks, call("toolu_01", "Bash", {"command": "ls"})).events)

    assert call_after.context_epoch == epochs


def test_a_file_that_came_into_the_context_without_a_call_is_named() -> None:
    events = _translate(
        prompt("look at it"),
        line("attachment", uuid="f", attachment={"type": "file", "filename": "/srv/app/notes.md"}),
        line("attachment", uuid="q", attachment={"type": "queued_command", "prompt": "and docs/b.md"}),
    ).events

    assert isinstance(events[0], InvocationStarted)
    assert events[0].named_targets == ("/srv/app/notes.md", "docs/b.md")


def test_a_memory_search_without_a_readable_answer_is_no_zero() -> None:
    (search,) = _calls(
        _translate(
            prompt(), call("toolu_01", "mcp__trodden__search_evidence", {"query": "q"}), result("toolu_01", "hm")
        ).events
    )

    assert search.tool == "search_evidence"
    assert search.recall is not None
    assert search.recall.result_status is ResultStatus.PARSER_MISS
    assert search.recall.surface == "memory"


def test_no_secret_leaves_in_a_prompt_an_address_a_query_or_a_hit() -> None:
    secret = "ghp_" + "a1B2" * 9
    told = {"query": "x", "results": [{"content": [{"title": secret, "url": f"https://example.org/?token={secret}"}]}]}
    events = _translate(
        prompt(f"use {secret} at https://example.org/?token={secret}"),
        call("toolu_01", "WebSearch", {"query": secret}),
        result("toolu_01", "", structured=told),
        call("toolu_02", "WebFetch", {"url": f"https://example.org/?token={secret}"}),
        result("toolu_02", f"it is {secret}"),
        call("toolu_03", "Bash", {"command": f"rg {secret}"}),
        result("toolu_03", f"src/{secret}.py"),
    ).events

    search, fetch = _calls(events)[:2]
    assert secret.encode() not in b"".join(msgspec.json.encode(event) for event in events)
    assert search.recall is not None
    assert fetch.touched[0].path == search.recall.candidates[0].anchor


def test_commands_for_the_program_itself_are_no_prompts() -> None:
    events = _translate(
        prompt("<command-name>/clear</command-name>", uuid="c"),
        prompt("<local-command-stdout></local-command-stdout>", uuid="o"),
        prompt("Caveat: The messages below", uuid="m", isMeta=True),
        prompt("really work", uuid="p"),
    ).events

    assert [event.prompt for event in events if isinstance(event, InvocationStarted)] == ["really work"]
