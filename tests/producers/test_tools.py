"""Canonical names, what a call touched, and what a prompt names."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from producers import memory_servers, touches
from producers.observed import Observed
from producers.prompts import named_targets
from producers.tools import McpName, canonical, split_mcp


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("mcp__trodden__search_evidence", McpName("trodden", "search_evidence")),
        ("mcp__plugin_claude-mem_mcp-search__search", McpName("plugin_claude-mem_mcp-search", "search")),
        ("mcp__server__tool__with__more", McpName("server", "tool__with__more")),
        ("mcp__server", None),
        ("Read", None),
    ],
)
def test_an_mcp_name_is_split_on_its_first_two_double_underscores(raw: str, expected: McpName | None) -> None:
    assert split_mcp(raw) == expected


@pytest.mark.parametrize(
    ("runtime", "raw", "expected"),
    [
        ("claude-code", "mcp__anything__search_evidence", "search_evidence"),
        ("claude-code", "mcp__claude-mem__search", "mcp__claude-mem__search"),
        ("codex-cli", "exec_command", "Bash"),
        ("gemini-cli", "search_file_content", "Grep"),
        ("opencode", "read", "Read"),
        ("claude-code", "BrandNewTool", "BrandNewTool"),
        ("unknown-runtime", "read", "read"),
    ],
)
def test_a_tool_has_one_name_on_the_log_and_an_unknown_one_keeps_its_own(runtime: str, raw: str, expected: str) -> None:
    assert canonical(runtime, raw) == expected


@pytest.mark.parametrize(
    ("raw", "tool_input", "expected"),
    [
        ("mcp__claude-mem__get_observations", {"ids": [1, 2]}, ("1", "2")),
        ("mcp__claude-mem__get_observations", {"ids": "[1,2]"}, ("1", "2")),
        ("mcp__claude-mem__get_observations", {"ids": "1, 2"}, ("1", "2")),
        ("mcp__claude-mem__timeline", {"anchor": "#7"}, ("7",)),
        ("mcp__engram__mem_get_observation", {"id": 12}, ("12",)),
        ("mcp__memory__open_nodes", {"names": ["Kettle"]}, ("Kettle",)),
        ("mcp__x_context7__query-docs", {"libraryId": "/org/lib", "query": "q"}, ("/org/lib",)),
        ("mcp__other__get_observations", {"ids": [1]}, ()),
        ("mcp__claude-mem__search", {"query": "1"}, ()),
    ],
)
def test_what_a_call_opens_on_a_memory_server_is_its_id_in_any_writing(
    raw: str, tool_input: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert memory_servers.opened_ids(raw, tool_input) == expected


def test_a_timeline_by_query_is_a_search_of_nothing_it_knows_and_opens_nothing() -> None:
    assert memory_servers.opened_ids("mcp__claude-mem__timeline", {"query": "valve"}) == ()


@pytest.mark.parametrize(
    ("path", "cwd", "expected"),
    [
        ("src/a.py", "/srv/app", "/srv/app/src/a.py"),
        ("../b/./a.py", "/srv/app", "/srv/b/a.py"),
        ("/abs/a.py", "/srv/app", "/abs/a.py"),
        ("file:///abs/a.py", "", "/abs/a.py"),
        ("C:\\app\\src\\a.py\r", "", "C:/app/src/a.py"),
        ("src\\a.py", "C:\\app", "C:/app/src/a.py"),
        ("~/notes.md", "/srv", "~/notes.md"),
        ("a.py", "", "a.py"),
    ],
)
def test_a_path_becomes_absolute_by_the_calls_working_directory(path: str, cwd: str, expected: str) -> None:
    assert touches.absolute(path, cwd) == expected


def test_a_read_says_which_lines_it_showed_and_whether_they_were_new() -> None:
    told = {"type": "file_unchanged", "file": {"filePath": "/a.md", "startLine": 11, "numLines": 5}}
    seen = Observed(
        call_id="c",
        name="Read",
        input={"file_path": "/a.md", "offset": 1},
        at=datetime(2026, 1, 1, tzinfo=UTC),
        line=1,
        structured=told,
    )

    (touch,) = touches.touched("Read", seen)

    assert (touch.start_line, touch.end_line, touch.new_content) == (11, 15, False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see docs/boil.md and @src/kettle.py.", ("docs/boil.md", "src/kettle.py")),
        ("what does ADR-007 say about F031?", ("ADR-007", "F031")),
        ("读一下 https://example.org/a?b=c 和 thread-abc123def", ("https://example.org/a?b=c", "thread-abc123def")),
        ("fix the build and/or the tests", ("and/or",)),
        ("nothing is named here", ()),
        ("C:\\app\\a.py twice C:\\app\\a.py", ("C:\\app\\a.py",)),
    ],
)
def test_a_prompt_names_paths_anchors_and_pages_each_once(text: str, expected: tuple[str, ...]) -> None:
    assert named_targets(text) == expected
