"""The store as its callers see it: folders in, answers out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.mcp.format import answer_text
from memory.model import SearchRequest
from memory.search.answer import outcome
from memory.state.store import Withdrawn
from memory.store import SearchStore
from streams.clock import FixedClock
from streams.errors import SourceError
from streams.recall import AnchorPrior, ResultStatus, SpecPrior

NOW = datetime(2031, 4, 1, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SearchStore]:
    with SearchStore.open(tmp_path / "data", clock=FixedClock(NOW)) as opened:
        yield opened


def a_folder(tmp_path: Path, **files: str) -> Path:
    root = tmp_path / "docs"
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path = path.with_suffix(".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def anchors(store: SearchStore, query: str, **options: object) -> list[str]:
    return [hit.anchor for hit in store.search(SearchRequest(query=query, **options)).hits]  # type: ignore[arg-type]


def test_a_two_letter_chinese_word_is_found_inside_a_sentence(store: SearchStore, tmp_path: Path) -> None:
    store.index(a_folder(tmp_path, kettle="# 水壶除垢手册\n\n每月一次。\n", other="# 办公室搬家\n"))

    assert anchors(store, "除垢") == ["doc:kettle"]


def test_an_english_word_glued_to_chinese_is_found(store: SearchStore, tmp_path: Path) -> None:
    store.index(a_folder(tmp_path, a="# Notes\n\nRedis的坑在于keyPrefix配置。\n"))

    assert anchors(store, "keyPrefix") == ["doc:a"]


def test_any_spelling_of_an_id_comes_first(store: SearchStore, tmp_path: Path) -> None:
    folder = a_folder(
        tmp_path,
        features__lid="---\nfeature_ids: [F088]\n---\n# Lid\n",
        plans__many="# F088 F088 F088\n\nF088 again and again: F088.\n",
    )
    store.index(folder)

    assert [anchors(store, query)[0] for query in ("F88", "f088", "F-88", "F088 lid")] == ["F088"] * 4


def test_a_decision_whose_id_is_a_bare_number_is_that_decision(store: SearchStore, tmp_path: Path) -> None:
    store.index(a_folder(tmp_path, decisions__012_kiln="---\ndecision_id: 012\n---\n# Why the kiln is round\n"))

    assert [anchors(store, query) for query in ("ADR-012", "adr 12")] == [["ADR-012"]] * 2


def test_no_query_is_a_syntax_error(store: SearchStore, tmp_path: Path) -> None:
    store.index(a_folder(tmp_path, a="# Kettle\n"))
    queries = ["", "   ", '"', "NEAR(", "title:x", "-foo", "*", "a\x00b", "\ud800", "'; DROP TABLE docs", "((((", "😀"]

    answers = [store.search(SearchRequest(query=query)) for query in queries]

    assert not any(answer.failed for answer in answers)


def test_an_edit_changes_only_its_document(store: SearchStore, tmp_path: Path) -> None:
    folder = a_folder(tmp_path, a="# Kettle\n", b="# Teapot\n")
    store.index(folder)
    (folder / "a.md").write_text("# Samovar and more\n")
    (folder / "b.md").unlink()

    report = store.index(folder)

    assert (report.added, report.changed, report.removed) == ((), ("doc:a",), ("doc:b",))
    assert anchors(store, "kettle") == anchors(store, "teapot") == []
    assert anchors(store, "samovar") == ["doc:a"]


def test_a_second_run_over_an_unchanged_folder_writes_nothing(store: SearchStore, tmp_path: Path) -> None:
    folder = a_folder(tmp_path, a="# Kettle\n", b="# Teapot\n")
    first = store.index(folder)

    second = store.index(folder)

    assert (second.added, second.changed, second.removed, second.unchanged) == ((), (), (), 2)
    assert second.generation == first.generation


def test_two_files_that_claim_an_anchor_both_stay_searchable(store: SearchStore, tmp_path: Path) -> None:
    folder = a_folder(
        tmp_path,
        features__a="---\nfeature_ids: [F031]\n---\n# Kettle boil\n",
        features__b="---\nfeature_ids: [F031]\n---\n# Kettle retrospective\n",
    )

    report = store.index(folder)

    assert set(anchors(store, "kettle")) == {"F031", "doc:features/b"}
    assert len(report.collisions) == 1


def test_the_owner_of_an_anchor_is_the_same_after_any_order_of_edits(store: SearchStore, tmp_path: Path) -> None:
    claim = "---\nfeature_ids: [F031]\n---\n# Kettle"
    folder = a_folder(tmp_path, features__a=f"{claim} one\n", features__b=f"{claim} two\n")
    store.index(folder)
    (folder / "features/a.md").unlink()
    store.index(folder)

    assert anchors(store, "F031 two") == ["F031"]

    (folder / "features/a.md").write_text(f"{claim} one\n")
    store.index(folder)

    assert anchors(store, "kettle two")[0] == "doc:features/b"


def test_a_missing_folder_is_said(store: SearchStore, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="expected a folder"):
        store.index(tmp_path / "nowhere")


def test_a_deleted_index_is_made_again_with_the_same_answers(tmp_path: Path) -> None:
    folder = a_folder(
        tmp_path,
        features__a="---\nfeature_ids: [F031]\n---\n# Kettle boil\n\nSee [the lid](b.md).\n",
        features__b="---\nfeature_ids: [F032]\nsupersedes: [F031]\n---\n# Kettle lid 水壶\n\nIt closes.\n",
        notes="# Notes\n\nThe kettle, the lid, the 水壶.\n",
    )
    requests = [
        SearchRequest(query=query) for query in ("kettle", "F031", "水壶", "kettle lid closes", "nothing at all")
    ]
    with SearchStore.open(tmp_path / "data") as store:
        store.index(folder)
        store.retain("Kettles are descaled monthly.", tags=["care"])
        before = [[(hit.anchor, hit.score, hit.snippet) for hit in store.search(request).hits] for request in requests]

    for file in (tmp_path / "data").rglob("index.sqlite*"):
        file.unlink()
    with SearchStore.open(tmp_path / "data") as store:
        after = [[(hit.anchor, hit.score, hit.snippet) for hit in store.search(request).hits] for request in requests]

    assert before[0]
    assert after == before


def test_a_broken_index_is_moved_aside_and_made_again(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, a="# Kettle care\n")
    with SearchStore.open(tmp_path / "data") as store:
        store.index(folder)
    (tmp_path / "data" / "index.sqlite").write_bytes(b"this is no database" * 100)

    with SearchStore.open(tmp_path / "data") as store:
        assert anchors(store, "kettle") == ["doc:a"]
        assert store.recovered is not None
        assert list((tmp_path / "data").glob("index.sqlite.broken-*"))


def a_prior(anchor: str, *, prior: float = 0.1, as_of: datetime = NOW) -> AnchorPrior:
    spec = SpecPrior(prior=prior, branch="full", shrunk_ctr=0.4, mean_ctr_kind=0.2, recency_factor=1.0)
    return AnchorPrior(
        anchor=anchor, doc_kind="plan", as_of=as_of, run_id="r", exposures=30, consumptions=12.0, spec=spec
    )


def test_a_consumption_prior_lifts_a_document_and_says_so(store: SearchStore, tmp_path: Path) -> None:
    store.index(a_folder(tmp_path, a="# Kettle boil\n", b="# Kettle boil\n", c="# Kettle boil\n"))
    last = anchors(store, "kettle boil")[-1]
    store.put_priors([a_prior(last)])

    off = store.search(SearchRequest(query="kettle boil"))
    shadow = store.search(SearchRequest(query="kettle boil", rerank="shadow", explain=True))
    on = store.search(SearchRequest(query="kettle boil", rerank="on"))

    assert off.hits[-1].anchor == shadow.hits[-1].anchor == last
    assert on.hits[0].anchor == last
    why = on.hits[0].explanation
    assert why is not None
    assert why.rank_without_prior == 3
    assert why.score == on.hits[0].score == pytest.approx(sum(on.hits[0].score_parts.values()))
    assert "12" in on.hits[0].reason
    assert "~ reranked, not shown: rank 1, up from 3" in answer_text(shadow)
    assert outcome(shadow).reranked_order == outcome(on).reranked_order
    assert outcome(on).base_order == outcome(shadow).base_order
    assert outcome(on).other_order == outcome(shadow).other_order == outcome(on).base_order
    assert outcome(on).priors_as_of == NOW


def test_an_older_run_never_overwrites_a_newer_prior(store: SearchStore) -> None:
    store.put_priors([a_prior("a", prior=0.2)])

    store.put_priors([a_prior("a", prior=0.9, as_of=NOW - timedelta(days=1))])

    assert store.state.priors(["a"])[0]["a"].spec.prior == 0.2


def test_a_withdrawn_prior_is_gone_until_a_run_brings_it_back(store: SearchStore) -> None:
    store.put_priors([a_prior("a")])

    store.put_priors([Withdrawn("a")])
    gone = store.state.priors(["a"])[0]
    store.put_priors([a_prior("a")])

    assert gone == {}
    assert "a" in store.state.priors(["a"])[0]


def test_the_sidecar_tells_a_true_zero_from_results(store: SearchStore, tmp_path: Path) -> None:
    store.index(a_folder(tmp_path, a="# Kettle\n"))

    found = outcome(store.search(SearchRequest(query="kettle")))
    nothing = outcome(store.search(SearchRequest(query="zebra")))

    assert (found.result_status, found.result_count, found.candidates[0].anchor) == (ResultStatus.COUNTED, 1, "doc:a")
    assert (nothing.result_status, nothing.result_count) == (ResultStatus.NO_RESULTS, 0)


def test_indexed_documents_are_told_to_the_log(store: SearchStore, tmp_path: Path) -> None:
    report = store.index(a_folder(tmp_path, features__a="---\nfeature_ids: [F031]\n---\n# Kettle\n", b="# B\n"))

    told = {document.anchor: document for document in store.documents(report)}

    assert set(told) == {"F031", "doc:b"}
    assert (told["F031"].doc_kind, told["F031"].path) == ("feature", "features/a.md")
    assert told["F031"].first_indexed_at == NOW


def test_a_file_that_is_one_lesson_is_one_document(store: SearchStore, tmp_path: Path) -> None:
    folder = a_folder(
        tmp_path,
        lessons__stated="---\nanchor: LL-306\n---\n# LL-306: Thumbnails first\n\nShow them early.\n",
        lessons__untold="# LL-307: Label lids\n\nThey mix up.\n",
    )

    report = store.index(folder)

    assert report.added == ("LL-306", "LL-307")
    assert report.collisions == ()
