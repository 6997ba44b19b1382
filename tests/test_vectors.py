"""The vector runner: how it compares, and that the shared vectors pass where they are at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vectors import faults, main

SHARED = Path(__file__).resolve().parents[2] / "shared" / "vectors"
AREAS = "target_match,shell_read,window,bundle,booleans,outcome,trajectory"


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ({"a": 2}, {"a": 2.0, "b": 1}),
        ({"a": 0.333333}, {"a": 1 / 3}),
        ({"a": None}, {"a": None}),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}),
        ({"live_set": ["x", "y"]}, {"live_set": ["y", "x"]}),
        ({"status_not": "ok"}, {"status": "error"}),
        ({"text_contains": "b"}, {"text": "abc"}),
        ({"hits_contains": "x"}, {"hits": ["x", "y"]}),
        ({"n_at_most": 3}, {"n": 3}),
        ({"n_at_least": {"a": 1}}, {"n": {"a": 2, "b": 0}}),
        ({"prior_sign": -1}, {"prior": -0.1}),
        ({"x_gt": 0}, {"x": 1}),
        ({"signals_exclude": "x"}, {"signals": ["y"]}),
        ({"each_has": ["a"]}, {"each": [{"a": 1}, {"a": 2}]}),
        ({"http_status_in": [400, 422]}, {"http_status": 422}),
    ],
)
def test_an_answer_that_agrees_has_no_faults(expected: dict[str, Any], answer: dict[str, Any]) -> None:
    assert faults(expected, answer) == []


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ({"a": 2}, {}),
        ({"a": None}, {}),
        ({"a": None}, {"a": 0}),
        ({"a": 0}, {"a": None}),
        ({"a": False}, {"a": 0}),
        ({"a": True}, {"a": 1}),
        ({"a": 0.333}, {"a": 1 / 3}),
        ({"paths": ["a", "b"]}, {"paths": ["b", "a"]}),
        ({"paths": ["a"]}, {"paths": ["a", "b"]}),
        ({"target_ref": {"kind": "doc"}}, {"target_ref": {"kind": "doc", "anchor": "x"}}),
        ({"status_not": "ok"}, {}),
        ({"status_not": "ok"}, {"status": "ok"}),
        ({"n_at_most": 3}, {"n": 4}),
        ({"n_at_most": 3}, {"n": None}),
        ({"prior_sign": 0}, {"prior": 0.1}),
        ({"signals_exclude": "x"}, {"signals": ["x"]}),
        ({"signals_exclude": "x"}, {}),
    ],
)
def test_an_answer_that_differs_has_a_fault(expected: dict[str, Any], answer: dict[str, Any]) -> None:
    assert len(faults(expected, answer)) == 1


def a_file(folder: Path, **vector: Any) -> str:
    path = folder / "vectors.json"
    path.write_text(json.dumps([{"id": "x-1", **vector}]), encoding="utf-8")
    return str(path)


def test_a_failing_vector_is_named_and_fails_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = a_file(tmp_path, area="shell_read", input={"command": "cat a.md"}, expected={"paths": []})

    assert main([file]) == 1
    assert capsys.readouterr().out == "shell_read: 0 passed, 1 failed x-1\n"


def test_a_vector_that_makes_the_product_raise_has_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = a_file(tmp_path, area="shell_read", input={}, expected={"paths": []})

    assert main([file, "--why"]) == 1
    assert "raised KeyError" in capsys.readouterr().out


def test_an_area_that_nobody_covers_fails_only_when_asked_for(tmp_path: Path) -> None:
    file = a_file(tmp_path, area="weather", input={}, expected={})

    assert main([file]) == 0
    assert main([file, "--area", "weather"]) == 1
    assert main([file, "--area", "shell_read"]) == 1


A_VECTOR = '{"id": "x", "area": "window", "input": {}, "expected": {}}'


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{broken", "expected a JSON file"),
        ("[]", "not empty"),
        ('{"cases": []}', "expected a list"),
        ("[1]", "vector 0: expected an object"),
        ('[{"id": "x", "area": "window", "input": {}}]', "vector 0 (x): expected expected"),
        ('[{"id": "x", "area": "window", "input": [], "expected": {}}]', "expected input of type dict"),
        (f"[{A_VECTOR}, {A_VECTOR}]", "the id x occurs twice"),
    ],
)
def test_a_file_without_vectors_is_refused_in_words(
    content: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "vectors.json"
    path.write_text(content, encoding="utf-8")

    assert main([str(path)]) == 2
    assert complaint in capsys.readouterr().out


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert main([str(tmp_path / "none.json")]) == 2


def test_vectors_may_stand_in_an_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vector = {"id": "x", "area": "shell_read", "input": {"command": "cat a.md"}, "expected": {"paths": ["a.md"]}}
    path = tmp_path / "vectors.json"
    path.write_text(json.dumps({"vectors": [vector]}), encoding="utf-8")

    assert main([str(path)]) == 0
    assert capsys.readouterr().out == "shell_read: 1 passed, 0 failed\n"


@pytest.mark.skipif(not SHARED.exists(), reason="the shared vectors do not lie beside this checkout")
def test_the_shared_vectors_of_the_correlator_pass(capsys: pytest.CaptureFixture[str]) -> None:
    code = main([str(SHARED / "f200.json"), "--area", AREAS, "--why"])

    assert code == 0, capsys.readouterr().out
