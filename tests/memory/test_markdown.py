"""Our block scanner against markdown-it, and the passages it makes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memory.sources.markdown import MAX_TOKENS, blocks, passages, plain, tokens

LINES = (
    *("# One", "## Two `code`", "### Three", "Title", "=====", "-----", "---", "* * *", "text and more", "> quoted"),
    *("```", "```py", "~~~", "# no heading in a fence", "- item", "| a | b |", "|---|---|", "", "", "水壶除垢"),
)


UNDERLINES = frozenset({"=====", "-----", "---"})
"""What makes a heading of the paragraph above it."""


def headings_of(body: str) -> list[str]:
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    found = parser.parse(body)
    return [plain(found[at + 1].content) for at, token in enumerate(found) if token.type == "heading_open"]


@given(st.lists(st.sampled_from([line for line in LINES if line not in UNDERLINES]), max_size=14))
def test_headings_are_those_that_markdown_it_finds(lines: list[str]) -> None:
    body = "\n".join(lines)

    assert [block.text for block in blocks(body) if block.kind == "heading"] == headings_of(body)


@pytest.mark.parametrize(
    ("body", "headings"),
    [("Title\n=====\n", ["Title"]), ("Two\nlines\n---\n", ["Two lines"]), ("\n---\n", []), ("a\n\n---\n", [])],
)
def test_an_underlined_paragraph_is_a_heading(body: str, headings: list[str]) -> None:
    assert [block.text for block in blocks(body) if block.kind == "heading"] == headings


@given(st.lists(st.sampled_from([*LINES, "word " * 90, "字" * 250]), max_size=20))
def test_a_passage_holds_at_most_400_tokens_and_knows_its_lines(lines: list[str]) -> None:
    body = "\n".join(lines)

    for passage in passages(blocks(body)):
        longest_heading = max((tokens(line) for line in lines if line.startswith("#")), default=0)
        assert tokens(passage.text) <= MAX_TOKENS + 20 * (longest_heading + 1)
        assert 1 <= passage.start_line <= passage.end_line <= len(lines)


@pytest.mark.parametrize("fence", ["```", "~~~"])
def test_a_fence_is_closed_only_by_a_fence_of_its_own_kind(fence: str) -> None:
    body = f"{fence}\n# inside\n{'~~~' if fence == '```' else '```'}\n{fence} x\n{fence}\n\n# outside\n"

    assert [block.text for block in blocks(body) if block.kind == "heading"] == ["outside"]
