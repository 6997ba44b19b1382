"""Candidates out of foreign answers: the frame decides, never a snippet; what cannot be read is a parser miss."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams import foreign
from streams.recall import DocRef, PassageRef, RecallOutcome, ResultStatus, ThreadRef, UrlRef
from streams.tokens import estimate_tokens, estimate_tokens_of_bytes


def anchors(said: RecallOutcome | None) -> list[str]:
    assert said is not None
    return [candidate.anchor for candidate in said.candidates]


@pytest.mark.parametrize(
    ("text", "call_input", "expected"),
    [
        ("a/b.py:3:x = 1\na/b.py:9:y\nc.py:1:z", {"output_mode": "content"}, ["a/b.py", "c.py"]),
        ("a/b.py-2-before\na/b.py:3:hit\n--\nc.py:1:z", {"output_mode": "content"}, ["a/b.py", "c.py"]),
        ("a.md-2-see x.md:7: there\na.md:3:hit", {"output_mode": "content"}, ["a.md"]),
        ("notes/2031-01-02-x.md:12:text", {"output_mode": "content"}, ["notes/2031-01-02-x.md"]),
        ("C:\\w\\a.py:4:def f():", {"output_mode": "content"}, ["C:\\w\\a.py"]),
        ("12:def f():\n13-    pass", {"output_mode": "content", "path": "src/a.py"}, ["src/a.py"]),
        ("def f():\n", {"output_mode": "content", "path": "src/a.py"}, ["src/a.py"]),
        ("src/a.py:def f(): pass", {"output_mode": "content", "path": "src"}, ["src/a.py"]),
        ("Found 2 files\nb/a.md\nmy notes/b.md", {"output_mode": "files_with_matches"}, ["b/a.md", "my notes/b.md"]),
        ("Found 2 files limit: 2\nb/a.md\nc.md", {}, ["b/a.md", "c.md"]),
        ("a/b.py:3\nc.py:1\n\nFound 4 total occurrences across 2 files.", {"output_mode": "count"}, ["a/b.py", "c.py"]),
    ],
)
def test_a_grep_answer_names_its_files_in_order(text: str, call_input: dict[str, Any], expected: list[str]) -> None:
    said = foreign.candidates_from_grep(text, call_input)

    assert anchors(said) == expected
    assert (said.result_status, said.result_count, said.surface) == ("counted", len(expected), "code_search")
    assert [candidate.rank for candidate in said.candidates] == list(range(1, len(expected) + 1))


@pytest.mark.parametrize("text", ["No files found", "No matches found", ""])
def test_a_grep_that_found_nothing_is_an_authoritative_zero(text: str) -> None:
    said = foreign.candidates_from_grep(text, {"pattern": "x"})

    assert (said.result_status, said.result_count, said.query) == ("no_results", 0, "x")


def test_a_grep_answer_nobody_can_read_is_a_parser_miss() -> None:
    said = foreign.candidates_from_grep("something went odd", {"pattern": "x"})

    assert (said.result_status, said.result_count) == ("parser_miss", None)


def test_relative_names_open_below_the_working_directory() -> None:
    said = foreign.candidates_from_grep("../b/a.py:1:x", {"output_mode": "content"}, "/r/w")

    assert said.candidates[0].target == DocRef(path="/r/b/a.py")


def test_a_file_list_is_a_search_of_the_code() -> None:
    said = foreign.candidates_from_paths(["/r/a.py", "/r/b.py", "/r/a.py"])

    assert anchors(said) == ["/r/a.py", "/r/b.py"]
    assert foreign.candidates_from_paths([]).result_status == "no_results"


@pytest.mark.parametrize(
    ("command", "text", "expected"),
    [
        ("rg -n kiln", "src/a.py:3:kiln\nsrc/b.py:4:kiln", ["src/a.py", "src/b.py"]),
        ("git grep kiln", "src/a.py:the kiln\nsrc/a.py-}", ["src/a.py"]),
        ("find . -name '*.py'", "./a.py\n./b/c.py", ["./a.py", "./b/c.py"]),
    ],
)
def test_a_shell_search_names_its_files(command: str, text: str, expected: list[str]) -> None:
    assert anchors(foreign.candidates_from_shell(command, text)) == expected


def test_a_shell_command_without_a_search_word_shows_no_candidates() -> None:
    assert foreign.candidates_from_shell("git push org main", "src/a.py:3:kiln") is None


@pytest.mark.parametrize(
    ("results", "status"),
    [
        ([], ResultStatus.NO_RESULTS),
        ([{"content": []}, "prose"], ResultStatus.NO_RESULTS),
        (["prose"], ResultStatus.PARSER_MISS),
        (None, ResultStatus.PARSER_MISS),
    ],
)
def test_a_web_search_is_a_zero_only_where_its_frame_says_so(results: list[Any] | None, status: ResultStatus) -> None:
    assert foreign.candidates_from_web(results).result_status is status


def test_a_list_of_files_that_could_not_be_read_is_no_zero() -> None:
    assert foreign.candidates_from_paths([]).result_status is ResultStatus.NO_RESULTS
    assert foreign.candidates_from_paths([], readable=False).result_status is ResultStatus.PARSER_MISS


def test_a_web_search_names_its_pages_once() -> None:
    groups = [{"content": [{"url": "https://a", "title": "A"}, {"url": "https://b"}]}, "prose", {"url": "https://a"}]

    said = foreign.candidates_from_web(groups, "kiln")

    assert anchors(said) == ["https://a", "https://b"]
    assert said.candidates[0].target == UrlRef(url="https://a")
    assert said.surface == "web_search"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"results": [{"id": "m1"}, {"id": "m2", "title": "T"}], "count": 2}', ["m1", "m2"]),
        ('[{"memory": {"content_hash": "abc"}, "similarity_score": 0.4}]', ["abc"]),
        ('{"entities": [{"name": "Kiln"}], "relations": []}', ["Kiln"]),
        ('["a", 7]', ["a", "7"]),
        ('Found 9 result(s) matching "q" (9 obs)\n| #12 | 10:00 | x | ~90 |\n| #S3 | 10:01 | y | ~9 |', ["12", "S3"]),
        ("Found 2 memories:\n\n[1] #41 (bug) — A\n  text\n[2] #7 (note) — B", ["41", "7"]),
        ("1. hit\n   Lines 3-9 in /h/x.jsonl (4KB, 9 lines)", ["/h/x.jsonl:3-9"]),
        ("- Title: K\n- Context7-compatible library ID: /org/kiln\n", ["/org/kiln"]),
        ("Found 2 result(s) for k:\n\n[high] A\n  anchor: W1\n[low] B\n  anchor: W2", ["W1", "W2"]),
    ],
)
def test_the_known_forms_of_memory_servers_are_read(text: str, expected: list[str]) -> None:
    assert anchors(foreign.candidates_from_mcp_text(text)) == expected


def test_typed_targets_come_from_paths_lines_urls_and_the_shape_of_ids() -> None:
    text = '{"hits": [{"path": "a.md", "id": "D1"}, {"uri": "https://x/y"}, {"anchor": "thread-9"}]}'

    targets = [candidate.target for candidate in foreign.candidates_from_mcp_text(text).candidates]
    passage = foreign.candidates_from_mcp_text("Lines 3-9 in /h/x.jsonl").candidates[0].target

    assert targets == [DocRef(path="a.md", anchor="D1"), UrlRef(url="https://x/y"), ThreadRef(thread_id="9")]
    assert passage == PassageRef(passage_id="/h/x.jsonl:3-9", path="/h/x.jsonl", start_line=3, end_line=9)


def test_the_header_counts_more_than_was_shown() -> None:
    said = foreign.candidates_from_mcp_text("Found 9 results\n  anchor: W1")

    assert (said.result_status, said.result_count, anchors(said)) == ("counted", 9, ["W1"])


def test_a_snippet_that_quotes_an_empty_answer_does_not_empty_it() -> None:
    said = foreign.candidates_from_mcp_text("Found 5 results for k:\n  anchor: W1\n  > No results found, he wrote")

    assert (said.result_status, said.result_count) == ("counted", 5)


@pytest.mark.parametrize("text", ["No results found for x", "Found 0 memories", '{"results": []}', "[]"])
def test_an_empty_frame_is_an_authoritative_zero(text: str) -> None:
    assert foreign.candidates_from_mcp_text(text).result_status == "no_results"


@pytest.mark.parametrize("text", ["odd text", '{"ok": true}', "{", '{"results": [{"x": 1}, 3.5]}'])
def test_an_answer_without_a_frame_is_never_a_zero(text: str) -> None:
    assert foreign.candidates_from_mcp_text(text).result_status in ("parser_miss", "counted")
    assert not foreign.candidates_from_mcp_text(text).candidates


def test_our_own_tool_without_its_sidecar_is_a_parser_miss_and_no_result_is_unmerged() -> None:
    assert foreign.read_result("Found 3 results", merged=True, ours=True).result_status == "parser_miss"
    assert foreign.read_result("Found 3 results", merged=True, ours=False).result_count == 3
    assert foreign.read_result(None, merged=True, ours=False).result_status == "parser_miss"
    assert foreign.read_result(None, merged=False, ours=True).result_status == "result_unmerged"


@given(st.text(alphabet='a.:-/0123456789 \n#|[]{}"Foundresultsanchor', max_size=200))
def test_no_text_makes_the_readers_raise(text: str) -> None:
    foreign.candidates_from_grep(text, {})
    foreign.candidates_from_mcp_text(text)
    foreign.candidates_from_shell("rg x", text)


def test_a_wide_character_costs_a_token_and_four_others_one() -> None:
    assert estimate_tokens("") == 0
    assert estimate_tokens("abcd" * 100) == 100
    assert estimate_tokens("窑炉排队") == 4
    assert estimate_tokens("窑炉 kiln") == 2 + 2
    assert estimate_tokens_of_bytes(401) == 101
