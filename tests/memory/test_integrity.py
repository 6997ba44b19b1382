"""The check finds damage that SQLite's own checks call sound, and the repair cures it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from memory.model import SearchRequest
from memory.store import SearchStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SearchStore]:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("kettle", "teapot", "samovar"):
        (docs / f"{name}.md").write_text(f"# The {name}\n\nAbout the {name}: descale it.\n")
    with SearchStore.open(tmp_path / "data") as opened:
        opened.index(docs)
        yield opened


def harm(store: SearchStore, *statements: str) -> None:
    def change(db: apsw.Connection) -> None:
        for statement in statements:
            db.execute(statement)

    store.index_db.write(change)


FAULTS = {
    "fts_row_missing": ["DELETE FROM docs_fts WHERE rowid = 1"],
    "fts_row_stale": [
        "DELETE FROM docs_fts WHERE rowid = 1",
        "INSERT INTO docs_fts (rowid, title, summary, keywords) VALUES (1, 'other words', '', '')",
    ],
    "fts_ghost_row": ["INSERT INTO docs_fts (rowid, title, summary, keywords) VALUES (99, 'ghost', '', '')"],
}


def test_a_sound_index_is_called_sound(store: SearchStore) -> None:
    assert store.check().findings == ()


@pytest.mark.parametrize("code", FAULTS)
def test_a_damaged_full_text_row_is_found_and_repaired(store: SearchStore, code: str) -> None:
    harm(store, *FAULTS[code])
    report = store.check()

    store.repair(report)

    assert [finding.code for finding in report.findings] == [code]
    assert not report.ok
    assert store.check().ok
    assert [hit.anchor for hit in store.search(SearchRequest(query="kettle")).hits] == ["doc:kettle"]


def test_a_stale_passage_row_is_found_and_repaired(store: SearchStore) -> None:
    harm(store, "UPDATE passages SET text = 'Something else stands here' WHERE id = 1")
    report = store.check()

    store.repair(report)

    assert [finding.detail for finding in report.of("fts_row_stale")] == ["passages_fts"]
    assert store.check().ok


def test_a_file_that_changed_behind_the_index_is_found_and_read_again(store: SearchStore, tmp_path: Path) -> None:
    (tmp_path / "docs" / "kettle.md").write_text("# The kettle\n\nWhistle.\n")
    (tmp_path / "docs" / "teapot.md").unlink()
    report = store.check()

    store.repair(report)

    assert {finding.code for finding in report.findings} == {"file_drift", "file_missing"}
    assert store.check().ok
    assert [hit.anchor for hit in store.search(SearchRequest(query="whistle")).hits] == ["doc:kettle"]


def test_documents_that_point_nowhere_are_advice_and_no_fault(store: SearchStore, tmp_path: Path) -> None:
    (tmp_path / "docs" / "old.md").write_text("---\nanchor: ADR-001\nsuperseded_by: ADR-009\n---\n# Old\n")
    store.index(tmp_path / "docs")

    report = store.check()

    assert report.ok
    assert [finding.code for finding in report.findings] == ["dangling_successor"]
