"""The shell classifier: the lexer's short cut equals the grammar, nothing raises, long commands stay linear."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from correlator.shell import classify, classify_by_grammar
from correlator.shell_lexer import pipelines_of

WORDS = st.sampled_from(
    [
        *("cat", "sed", "-n", "rg", "grep", "-l", "1,5p", "a.md", "b/c.md", "src", "cd", "b", "head", "-20", "wc"),
        *(
            "tee",
            "xargs",
            "echo",
            "ls",
            "git",
            "show",
            "HEAD:a.md",
            "python",
            "-c",
            "bash",
            "-lc",
            "env",
            "*.md",
            "rm",
            ".",
        ),
    ]
)
QUOTES = st.sampled_from(["'a.md'", '"b/c.md"', "'1,5p'", "'a;b'", '"x y.md"', "''", "'cat a.md'"])
JOINS = st.sampled_from(
    [" ", "  ", " && ", " || ", "; ", " | ", "|", ";", "\n", " 2>&1 ", " > out.md ", " 2>/dev/null "]
)


@st.composite
def a_command(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.tuples(WORDS | QUOTES, JOINS), min_size=1, max_size=8))
    return "".join(word + join for word, join in parts).strip()


@given(a_command())
def test_the_short_cut_says_what_the_grammar_says(command: str) -> None:
    if pipelines_of(command) is None:
        return
    short, full = classify(command), classify_by_grammar(command)

    if not full.reason:
        assert (short.shown, short.written, short.classes) == (full.shown, full.written, full.classes)


@given(st.text(alphabet="cat a.md'\"|&;<>(){}$`\\\n #*[]=-/", max_size=80))
def test_no_text_makes_the_classifier_raise(command: str) -> None:
    verdict = classify(command)

    assert verdict.classes
    assert all(operand.path for operand in verdict.shown)


@given(st.text(max_size=60))
def test_no_unicode_makes_the_classifier_raise(command: str) -> None:
    assert classify(f"cat {command}").classes


@pytest.mark.parametrize(
    "command", ["(" * 5_000 + "cat a" + ")" * 5_000, "bash -c " * 500 + "x", "{ " * 3_000, "$(" * 3_000]
)
def test_deep_nesting_is_other_and_no_crash(command: str) -> None:
    assert classify(command).classes


@pytest.mark.parametrize(
    ("command", "shown", "written"),
    [
        ("cat a.md && cat b.md > out.md", ("a.md",), ("out.md",)),
        ("cat a.md | head > out.md", (), ("out.md",)),
        ("cat a.md || cat b.md | head > out.md", ("a.md",), ("out.md",)),
        ("cat a.md && cat b.md > out.md | wc -l", ("a.md",), ("out.md",)),
        ("cat a.md && ! cat b.md > out.md && cat c.md", ("a.md", "c.md"), ("out.md",)),
        ("cat a.md && cat > out.md <<EOF && cat b.md\nx\nEOF", ("a.md", "b.md"), ("out.md",)),
        ("cat a.md - <<EOF | head > out.md\nx\nEOF", (), ("out.md",)),
        ("cat <<EOF > out.md a.md\nx\nEOF\ncat b.md", ("b.md",), ("out.md",)),
        ("> out.md cat a.md", (), ("out.md",)),
        ("(cat a.md; cat b.md) > out.md", (), ("out.md",)),
        ("cat a.md && { cat b.md; cat c.md; } > out.md", ("a.md",), ("out.md",)),
    ],
)
def test_a_redirect_belongs_to_the_last_command_before_it(
    command: str, shown: tuple[str, ...], written: tuple[str, ...]
) -> None:
    verdict = classify_by_grammar(command)

    assert (verdict.paths, verdict.written) == (shown, written)


def test_a_long_list_is_read_to_its_end() -> None:
    verdict = classify(" && ".join(f"cat f{number}.md" for number in range(5_000)) + ' && cat "$X" last.md')

    assert len(verdict.shown) == 5_001
    assert verdict.paths[-1] == "last.md"


def test_a_long_list_with_redirects_is_read_to_its_end() -> None:
    verdict = classify(" && ".join(f"cat f{number}.md > o{number}" for number in range(5_000)) + ' && cat "$X" last.md')

    assert len(verdict.written) == 5_000
    assert verdict.paths == ("last.md",)


@pytest.mark.parametrize(
    ("command", "classes"),
    [
        ("cat a.md", {"read"}),
        ("rg x a.md", {"search_in"}),
        ("rg x", {"search_tree"}),
        ("rg x src", {"search_in", "search_tree"}),
        ("ls src", {"discovery"}),
        ("rm a.md", {"write"}),
        ("make", {"other"}),
        ("cat a.md; rg x; rm b.md", {"read", "search_tree", "write"}),
    ],
)
def test_a_command_has_the_classes_of_its_parts(command: str, classes: set[str]) -> None:
    assert classify(command).classes == classes


def test_text_without_a_grammar_says_so() -> None:
    verdict = classify("cat for in do ((( 'x")

    assert verdict.shown == ()
    assert verdict.reason


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("sed -n '5,40p' a.md", (5, 40)),
        ("sed -n 7p a.md", (7, 7)),
        ("head -n 20 a.md", (1, 20)),
        ("head -20 a.md", (1, 20)),
        ("bat -r 3:9 a.md", (3, 9)),
        ("cat a.md", (None, None)),
        ("sed -n '/x/,/y/p' a.md", (None, None)),
    ],
)
def test_the_lines_that_a_command_shows_are_known(command: str, lines: tuple[int | None, int | None]) -> None:
    assert [operand.lines for operand in classify(command).shown] == [lines]


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ("echo x > a.md", ["a.md"]),
        ("cat a.md | tee b.md", ["b.md"]),
        ("sed -i s/a/b/ a.md b.md", ["a.md", "b.md"]),
        ("mv a.md b.md", ["a.md", "b.md"]),
        ("cp a.md b.md", ["b.md"]),
        ("cd docs && touch a.md", ["docs/a.md"]),
        ("perl -pi -e 's/a/b/' a.md", ["a.md"]),
        ("dd if=/dev/zero of=a.bin", ["a.bin"]),
        ("cat a.md 2> err.log", []),
        ("cat a.md > /dev/null", []),
        ("git checkout -- a.md", ["a.md"]),
    ],
)
def test_the_files_that_a_command_changes_are_known(command: str, written: list[str]) -> None:
    assert list(classify(command).written) == written
