"""The reranker moves results a little, for stated reasons, and loses none."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.rerank import RankItem, RerankSettings, climb, ranker_id, relevance_of, rerank
from streams.recall import AnchorPrior
from tests.ranking.build import NOW, a_pool, a_prior, an_item

ON = RerankSettings(mode="on")


def order_of(pool: list[RankItem], *priors: AnchorPrior, settings: RerankSettings = ON, limit: int = 10) -> str:
    found = rerank(pool, {p.anchor: p for p in priors}, now=NOW, settings=settings, limit=limit)
    return "".join(found.shown)


def test_a_document_opened_again_and_again_rises_by_at_most_three_places() -> None:
    assert order_of(a_pool(*"abcdefgh"), a_prior("e", 0.9)) == "aebcdfgh"


def test_a_document_shown_and_never_opened_falls_by_at_most_three_places() -> None:
    assert order_of(a_pool(*"abcdefgh"), a_prior("a", -0.2, consumptions=0)) == "bcdaefgh"


def test_one_reading_changes_nothing_however_large_the_lift() -> None:
    assert order_of(a_pool(*"abcd"), a_prior("d", 0.5, consumptions=1)) == "abcd"


def test_a_new_document_takes_no_part() -> None:
    assert order_of(a_pool(*"abcd"), a_prior("d", 0.5, branch="grace")) == "abcd"


def test_a_constitutional_document_neither_falls_by_its_own_record_nor_lets_another_pass() -> None:
    pool = [an_item("a", 1, authority="constitutional"), *a_pool(*"abcd")[1:]]

    assert order_of(pool, a_prior("a", -0.5, consumptions=0), a_prior("b", 0.9), a_prior("d", 0.9)) == "abdc"


def test_a_constitutional_document_may_rise() -> None:
    pool = [*a_pool(*"abc"), an_item("d", 4, doc_kind="lesson")]

    assert order_of(pool, a_prior("d", 0.9)) == "dabc"


def test_a_pinned_document_keeps_its_place() -> None:
    pool = [an_item("a", 1, is_pinned=True, base_score=0.0), *a_pool(*"abcd")[1:]]

    assert order_of(pool, a_prior("a", -0.5), a_prior("d", 0.9)) == "adbc"


def test_relevance_dominates_a_clear_gap_stays() -> None:
    pool = [an_item("a", 1, base_score=2 / 61), an_item("b", 2, base_score=1 / 62)]

    assert order_of(pool, a_prior("b", 0.9), a_prior("a", -0.5)) == "ab"


def test_freshness_breaks_ties_but_does_not_rule() -> None:
    old, fresh = NOW - timedelta(days=900), NOW
    tie = [an_item("a", 1, updated_at=old, base_score=0.03), an_item("b", 2, updated_at=fresh, base_score=0.03)]
    far = [*(an_item(anchor, rank, updated_at=old) for rank, anchor in enumerate("abcde", 1)), an_item("f", 6)]

    assert order_of(tie) == "ba"
    assert order_of(far) in ("abcdef", "abcdfe", "abcfde")


def test_the_calibrated_estimator_ranks_by_its_own_figure() -> None:
    settings = RerankSettings(mode="on", estimator="calibrated")

    assert order_of(a_pool(*"abcd"), a_prior("d", -0.3, z=0.2), settings=settings) == "dabc"


def test_shadow_shows_the_base_order_and_keeps_the_other() -> None:
    found = rerank(a_pool(*"abcd"), {"d": a_prior("d")}, now=NOW, settings=RerankSettings(mode="shadow"), limit=4)

    assert found.shown == tuple("abcd")
    assert found.reranked_order == tuple("dabc")


def test_off_and_unreadable_priors_give_exactly_the_base_order() -> None:
    off = rerank(a_pool(*"ab"), {"b": a_prior("b")}, now=NOW, settings=RerankSettings(), limit=2)
    unreadable = rerank(a_pool(*"ab"), None, now=NOW, settings=ON, limit=2)

    assert off.shown == unreadable.shown == ("a", "b")
    assert off.reranked_order is unreadable.reranked_order is None


def test_the_explanation_says_the_rank_without_consumption() -> None:
    found = rerank(a_pool(*"abcd"), {"d": a_prior("d", 0.3)}, now=NOW, settings=ON, limit=4)

    assert (found.explanations["d"].rank, found.explanations["d"].rank_without_prior) == (1, 4)
    assert found.explanations["d"].sentence() == (
        "rank 1, up from 4 by consumption: opened 10 of 40 times shown in 30 days; +15.0% of its relevance"
    )


def test_a_result_that_was_passed_is_not_said_to_fall_by_its_own_record() -> None:
    found = rerank(a_pool(*"ab"), {"a": a_prior("a", 0.05), "b": a_prior("b", 0.3)}, now=NOW, settings=ON, limit=2)

    assert found.explanations["a"].sentence().startswith("rank 2, down from 1 because others rose past it: opened 10")


def test_a_ranker_is_named_by_its_weights_not_by_its_mode() -> None:
    assert ranker_id(RerankSettings(mode="on")) == ranker_id(RerankSettings(mode="shadow"))
    assert ranker_id(RerankSettings(beta=2.0)) != ranker_id(RerankSettings())


@pytest.mark.parametrize("scores", [[0.0, 0.0, 0.0], [-1.0, -2.0, -3.0], [float("nan"), 1.0, 0.5]])
def test_scores_that_say_nothing_fall_back_to_the_rank(scores: list[float]) -> None:
    items = [an_item(str(rank), rank, base_score=score) for rank, score in enumerate(scores, start=1)]

    assert relevance_of(items) == [1.0, 61 / 62, 61 / 63]


kinds = st.sampled_from(["feature", "lesson", "discussion", "plan", "adr"])
pools = st.lists(
    st.builds(
        lambda kind, score, age, authority, stale, words: {
            "doc_kind": kind,
            "base_score": score,
            "updated_at": NOW - timedelta(days=age),
            "authority": authority,
            "stale": stale,
            "keywords": tuple(words),
        },
        kinds,
        st.floats(0.001, 0.033),
        st.integers(-5, 900),
        st.sampled_from(["observed", "validated", "constitutional"]),
        st.booleans(),
        st.lists(st.sampled_from("uvwxyz"), max_size=3),
    ),
    min_size=2,
    max_size=30,
).map(lambda rows: [an_item(f"d{rank}", rank, **row) for rank, row in enumerate(rows, start=1)])
effects = st.dictionaries(st.integers(1, 30), st.tuples(st.floats(-1, 1), st.integers(0, 20)), max_size=30).map(
    lambda found: {f"d{rank}": a_prior(f"d{rank}", prior, consumptions=n) for rank, (prior, n) in found.items()}
)


@given(pools, effects, st.sampled_from(["lexical", "hybrid"]), st.integers(1, 10))
def test_every_rerank_is_a_bounded_permutation_whose_waterfalls_add_up(
    pool: list[RankItem], priors: dict[str, AnchorPrior], search_mode: str, limit: int
) -> None:
    found = rerank(pool, priors, now=NOW, settings=ON, limit=limit, search_mode=search_mode)

    assert sorted(found.shown) == sorted(found.base_order)
    assert list(found.explanations) == list(found.shown)
    for why in found.explanations.values():
        assert abs(why.rank - why.rank_without_prior) <= 3
        assert sum(why.parts.values()) == pytest.approx(why.score, abs=1e-9)
        if why.protected:
            assert why.rank <= why.rank_without_prior


@given(pools, st.sampled_from(["lexical", "hybrid"]), st.integers(1, 10))
def test_without_any_prior_no_place_is_due_to_consumption(pool: list[RankItem], search_mode: str, limit: int) -> None:
    found = rerank(pool, {}, now=NOW, settings=ON, limit=limit, search_mode=search_mode)

    assert all(why.rank == why.rank_without_prior for why in found.explanations.values())


@given(pools, effects)
def test_outside_hybrid_a_constitutional_document_that_is_not_stale_never_stands_below_its_base_rank(
    pool: list[RankItem], priors: dict[str, AnchorPrior]
) -> None:
    found = rerank(pool, priors, now=NOW, settings=ON, limit=5)

    assert all(why.rank <= why.base_rank for why in found.explanations.values() if why.protected)


def test_climbing_without_a_bound_sorts() -> None:
    assert climb([0, 1, 2, 3], [1.0, 3.0, 2.0, 4.0], protected=set()) == [3, 1, 2, 0]


@pytest.mark.parametrize(("estimator", "first", "other"), [("spec", "b", "a"), ("calibrated", "a", "b")])
def test_what_the_other_estimator_would_have_shown_is_kept(estimator: str, first: str, other: str) -> None:
    priors = {"b": a_prior("b", 0.3, z=0.0)}
    settings = RerankSettings(mode="on", estimator=estimator)  # type: ignore[arg-type]  # parametrized text

    found = rerank(a_pool(*"abc"), priors, now=NOW, settings=settings, limit=3)

    assert found.other_order is not None
    assert (found.shown[0], found.other_order[0]) == (first, other)
    assert sorted(found.other_order) == ["a", "b", "c"]
