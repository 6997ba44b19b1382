"""`trodden eval search`: figures say whose vectors they were measured with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy.cli.eval import command
from memory.embed.store import embedder
from streams.errors import ConfigError


@pytest.fixture
def known(tmp_path: Path) -> list[str]:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "rest.md").write_text("# 提醒人们休息一下\n\n每小时离开屏幕。\n", encoding="utf-8")
    (docs / "move.md").write_text("# 办公室搬家计划\n\n先搬桌子。\n", encoding="utf-8")
    queries = tmp_path / "queries.jsonl"
    line = {"query": "tell people to take some rest", "anchor": "doc:rest", "class": "en_for_zh"}
    queries.write_text(json.dumps(line) + "\n", encoding="utf-8")
    return ["search", "--docs", str(docs), "--queries", str(queries)]


def test_hybrid_is_measured_with_the_bundled_model_where_none_is_set(
    known: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    try:
        embedder("bundled")
    except ConfigError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("TRODDEN_EMBEDDINGS", "off")

    shown = CliRunner().invoke(command, [*known, "--mode", "hybrid"]).output
    measured = json.loads(CliRunner().invoke(command, [*known, "--mode", "hybrid", "--json"]).output)

    assert "hybrid (bundled, use-multilingual-v3-q)" in shown
    assert measured["hybrid"]["en_for_zh"]["recall_at_1"]["value"] == 1.0


def test_hybrid_without_a_model_is_refused_and_lexical_needs_none(known: list[str]) -> None:
    refused = CliRunner().invoke(command, [*known, "--mode", "hybrid", "--embeddings", "onnx-dir:/nowhere"])
    lexical = CliRunner().invoke(command, [*known, "--embeddings", "onnx-dir:/nowhere"])

    assert isinstance(refused.exception, ConfigError)
    assert lexical.exit_code == 0, lexical.output
