"""Bytes to records, whatever happened to the file."""

from __future__ import annotations

import json
import mmap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers import lines
from producers.lines import Line, Problem, json_lines


def _values(data: bytes) -> list[object]:
    return [item.value if isinstance(item, Line) else item.kind for item in json_lines(data, "f")]


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1}\n{"a": 2}\n',
        b'\xef\xbb\xbf{"a": 1}\n{"a": 2}\n',
        b'{"a": 1}\r\n{"a": 2}\r\n',
        b'\n\n{"a": 1}\n   \n{"a": 2}',
        b'{"a": 1}\n\x00\x00\x00{"a": 2}\n\x00\x00',
        '{"a": 1}\n{"a": 2}\n'.encode("utf-16"),
        b"\xfe\xff" + '{"a": 1}\n{"a": 2}\n'.encode("utf-16-be"),
    ],
    ids=["plain", "bom", "crlf", "blank lines and no last newline", "nul padding", "utf-16", "utf-16-be"],
)
def test_two_records_are_read_whatever_stands_around_them(data: bytes) -> None:
    assert _values(data) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x1c"])
def test_a_line_separator_inside_a_string_ends_no_line(separator: str) -> None:
    data = json.dumps({"text": f"a{separator}b"}, ensure_ascii=False).encode() + b"\n"

    assert _values(data) == [{"text": f"a{separator}b"}]


def test_bytes_that_are_no_utf_8_are_replaced_and_the_record_is_used() -> None:
    assert _values(b'{"text": "caf\xe9"}\n') == [{"text": "caf\ufffd"}]


def test_a_raw_control_character_in_a_string_is_taken_as_it_is() -> None:
    assert _values(b'{"text": "a\tb"}\n') == [{"text": "a\tb"}]


def test_half_of_an_emoji_is_read() -> None:
    (value,) = _values(b'{"text": "\\ud83d"}\n')

    assert value == {"text": "\ud83d"}


def test_a_last_line_that_is_still_being_written_waits() -> None:
    assert _values(b'{"a": 1}\n{"a": ') == [{"a": 1}, "skipped"]


def test_a_broken_line_in_the_middle_is_dead_and_says_where_it_stands() -> None:
    problem = next(item for item in json_lines(b'{"a": 1}\n{"a": \n{"a": 2}\n', "f.jsonl") if isinstance(item, Problem))

    assert (problem.kind, problem.uri, problem.line, problem.offset, problem.raw) == (
        "dead",
        "f.jsonl",
        2,
        9,
        b'{"a": ',
    )


@pytest.mark.parametrize("data", [b"[1, 2]\n", b"7\n", b'"text"\n', b"null\n", b"[" * 100_000 + b"\n"])
def test_json_that_is_no_object_is_dead(data: bytes) -> None:
    assert _values(data) == ["dead"]


def test_a_huge_line_is_dead_with_its_beginning_and_the_next_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 100)

    problem, line = json_lines(b'{"a": "' + b"x" * 200 + b'"}\n{"a": 2}\n', "f")

    assert isinstance(problem, Problem)
    assert problem.reason == "expected a line of at most 100 bytes, got 209"
    assert isinstance(line, Line)


def test_a_mapped_file_is_read_like_one_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b'{"a": 1}\n{"a": 2}\n')
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert [item.value for item in json_lines(mapped, "f") if isinstance(item, Line)] == [{"a": 1}, {"a": 2}]


@given(st.binary(max_size=300))
def test_no_bytes_at_all_make_it_raise_and_every_line_is_accounted_for(data: bytes) -> None:
    found = list(json_lines(data, "f"))

    numbers = [item.number if isinstance(item, Line) else item.line for item in found]
    assert numbers == sorted(set(numbers))
