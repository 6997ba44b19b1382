"""Two rankers share a list fairly, and each vote counts once."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking.explore import Exploration, explore
from ranking.interleave import Tally, credited, placement_chances, seeded_coin, tally, team_draft
from ranking.rerank import RerankSettings, rerank
from ranking.serve import serve
from tests.ranking.build import NOW, a_pool, a_prior

orders = st.permutations("abcdef").map("".join)


def test_each_team_adds_its_best_unused_document_and_the_coin_says_who_is_first() -> None:
    slots = team_draft("abcd", "dbac", limit=4, coin=lambda round_: round_ == 0)

    assert [(slot.anchor, slot.team) for slot in slots] == [("a", "a"), ("d", "b"), ("b", "b"), ("c", "a")]


@given(orders, orders, st.integers(1, 8), st.text())
def test_a_draft_loses_and_repeats_nothing(a: str, b: str, limit: int, seed: str) -> None:
    slots = team_draft(a, b, limit=limit, coin=seeded_coin(seed))

    assert len({slot.anchor for slot in slots}) == len(slots) == min(limit, 6)


@given(orders, orders)
def test_logged_propensities_are_those_of_all_coins_enumerated(a: str, b: str) -> None:
    outcomes = [
        team_draft(a, b, limit=6, coin=lambda round_, coins=coins: coins[round_])  # type: ignore[misc]  # bound early
        for coins in product([True, False], repeat=3)
    ]

    for place, chances in enumerate(placement_chances(a, b, 6)):
        assert sum(chances.values()) == pytest.approx(1.0)
        for anchor, chance in chances.items():
            assert chance == pytest.approx(sum(slots[place].anchor == anchor for slots in outcomes) / len(outcomes))


def test_coins_are_fair_and_repeatable() -> None:
    heads = sum(seeded_coin(f"search-{number}")(round_) for number in range(2000) for round_ in range(4))

    assert abs(heads / 8000 - 0.5) < 0.02
    assert seeded_coin("x")(3) == seeded_coin("x")(3)


def test_a_consumption_credits_the_team_that_placed_it() -> None:
    slots = [("a", "a"), ("d", "b")]

    assert credited(slots, "abcd", "dbac", {"d"}) == "b"
    assert credited(slots, "abcd", "dbac", {"a", "d"}) is None


def test_what_both_rankers_put_on_the_same_place_is_neutral() -> None:
    assert credited([("a", "a"), ("b", "b")], "abc", "acb", {"a"}) is None


def test_an_invocation_votes_once_with_its_first_decided_search() -> None:
    assert tally([("i", None), ("i", "b"), ("i", "a"), ("j", "a"), ("k", None)]) == Tally(a=1, b=1, ties=1)


def test_a_served_draft_logs_team_and_chance_of_every_slot() -> None:
    priors = {"d": a_prior("d", 0.3)}
    reranked = rerank(a_pool(*"abcd"), priors, now=NOW, settings=RerankSettings(mode="shadow"), limit=3)

    served = serve(reranked, priors, limit=3, seed="s", interleave=True)

    assert served.ranker_mode == "interleave"
    assert set(served.order) == set(served.teams) == set(served.propensities)
    assert served.propensities["d"] <= 1.0


def test_an_explicit_id_is_neither_drafted_nor_explored() -> None:
    reranked = rerank(a_pool(*"abcdef"), {}, now=NOW, settings=RerankSettings(mode="on"), limit=6)

    served = serve(reranked, {}, limit=6, seed="s", interleave=True, exploration=Exploration(rate=1.0), exact_id=True)

    assert served.order == tuple("abcdef")
    assert set(served.propensities.values()) == {1.0}


def test_exploration_swaps_one_slot_with_a_document_hardly_ever_shown() -> None:
    reranked = rerank(a_pool(*"abcdef"), {}, now=NOW, settings=RerankSettings(mode="on"), limit=6)

    served = serve(reranked, {}, limit=6, seed="s", exploration=Exploration(rate=1.0, slot=4))

    assert served.order[:3] == tuple("abc")
    assert served.order[3] in "ef"
    assert sorted(served.order) == list("abcdef")
    assert 0.0 < served.propensities[served.order[3]] < 1.0


def test_the_chances_of_a_slot_sum_to_one_over_everything_it_may_show() -> None:
    relevance = dict.fromkeys("abcdef", 1.0)
    found = {
        explored.order[3]: explored.propensity
        for seed in range(300)
        for explored in [explore("abcdef", relevance, {}, Exploration(rate=0.5, draws=1000), seed=seed)]
    }

    assert set(found) == set("def")
    assert sum(found.values()) == pytest.approx(1.0, abs=0.06)


def test_a_well_known_document_is_not_explored() -> None:
    priors = {anchor: a_prior(anchor) for anchor in "ef"}

    found = explore("abcdef", dict.fromkeys("abcdef", 1.0), priors, Exploration(rate=1.0), seed=1)

    assert found.order == tuple("abcdef")


def test_exploration_never_takes_rank_one() -> None:
    with pytest.raises(ValueError, match="rank 2 or below"):
        Exploration(slot=1)
