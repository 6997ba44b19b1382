"""Replay, examination chances, monitors and the evidence that is read from logged searches."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ranking.anchors import AnchorFacts
from ranking.counterfactual import LoggedSearch, ReplayRules, consumed_mrr, replay
from ranking.evidence import Search, figures, gather, loop_monitors, randomised, self_test
from ranking.interleave import seeded_coin, team_draft
from ranking.job import read_searches
from ranking.monitors import gini, monitor
from ranking.propensity import Shown, estimate, isotonic
from ranking.sequential import Share
from ranking.whatif import compare, settings_of
from tests.ranking.build import NOW, a_prior
from tests.warehouse.builders import T0, a_candidate, a_consumption, a_recall, a_warehouse


def a_search(shown: str = "abc", opened: str = "", invocation: str = "i", **changes: object) -> Search:
    fields: dict[str, object] = {
        "recall_id": invocation,
        "invocation_id": invocation,
        "occurred_at": NOW,
        "tool": "search_evidence",
        "query": "q",
        "ranker_id": "",
        "ranker_mode": "shadow",
        "shown": list(shown),
        "teams": [None] * len(shown),
        "propensities": [1.0] * len(shown),
        "base_order": list(shown),
        "reranked_order": list(shown),
        "consumed": list(opened),
        "ranks": [shown.index(anchor) + 1 if anchor in shown else None for anchor in opened],
        "credits": [1.0] * len(opened),
        "dwells": [5000] * len(opened),
        "reformulated": False,
        "fell_back_to_grep": False,
        "abandoned": not opened,
    }
    return Search(**(fields | changes))  # type: ignore[arg-type]  # a builder passes what the test names


def logged(shown: str, opened: str, invocation: str = "i") -> LoggedSearch:
    return LoggedSearch(invocation=invocation, shown=shown, consumed=dict.fromkeys(opened, 1.0))


def test_a_consumption_far_down_stands_for_those_never_looked_at() -> None:
    found = replay([logged("abc", "a"), logged("abc", "c")], ["abc", "abc"], {1: 1.0, 2: 0.5, 3: 0.25})

    assert found.ips == pytest.approx((1 / 1 * 1 + 4 * 1 / 3) / 2)
    assert found.snips == pytest.approx((1 + 4 / 3) / 5)
    assert found.ess == pytest.approx(25 / 17)


def test_a_small_log_is_refused_and_says_why() -> None:
    found = replay([logged("abc", "a")], ["bc"], {1: 1.0})

    assert found.coverage == 0.0
    assert len(found.refused) == 2


def test_a_large_covered_log_is_not_refused() -> None:
    log = [logged("abc", "a", f"i{number}") for number in range(250)]

    found = replay(log, ["abc"] * 250, {1: 1.0})

    assert found.refused == ()
    assert found.ips_interval == (1.0, 1.0)


def test_invocations_are_drawn_whole() -> None:
    alone = [logged("abc", "ac"[number % 2], f"i{number}") for number in range(200)]
    together = [logged("abc", "ac"[number // 20 % 2], f"i{number // 20}") for number in range(200)]

    narrow, wide = (replay(log, ["abc"] * 200, {1: 1.0, 3: 1.0}).ips_interval for log in (alone, together))

    assert narrow is not None
    assert wide is not None
    assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])


def test_a_chance_below_the_floor_is_raised_to_it() -> None:
    found = replay([logged("abc", "c")], ["abc"], {3: 0.001}, rules=ReplayRules(theta_at_least=0.1))

    assert found.ips == pytest.approx(10 / 3)


def test_one_order_a_search_is_expected() -> None:
    with pytest.raises(ValueError, match="one order a search"):
        replay([logged("a", "")], [], {})


def test_plain_replay_takes_the_best_consumed_rank_and_a_miss_as_zero() -> None:
    assert consumed_mrr([logged("abc", "bc"), logged("abc", "")], ["abc", "abc"]) == 0.25
    assert consumed_mrr([], []) is None


def test_examination_chances_are_found_where_chance_moved_the_documents() -> None:
    random = np.random.default_rng(7)
    theta, relevance = {1: 1.0, 2: 0.6, 3: 0.3}, random.uniform(0.1, 0.9, 60)
    rows = [
        Shown(f"pair-{pair}", rank, float(random.random() < relevance[pair] * theta[rank]))
        for pair in range(60)
        for rank in theta
        for _ in range(100)
    ]

    found = estimate(rows)

    assert found.converged
    assert found.theta == pytest.approx(theta, abs=0.04)
    assert found.pairs == 60


def test_without_randomised_exposures_every_rank_counts_as_examined() -> None:
    found = estimate([Shown("p", 1, 1.0), Shown("q", 2, 0.0)])

    assert found.theta == {1: 1.0, 2: 1.0}
    assert not found.converged


def test_isotonic_pools_what_rises() -> None:
    assert isotonic(np.array([1.0, 0.2, 0.6, 0.1]), np.array([1.0, 1.0, 3.0, 1.0])) == pytest.approx(
        [1.0, 0.5, 0.5, 0.1]
    )


def test_gini_is_zero_for_equals_and_near_one_for_a_monopoly() -> None:
    assert gini([3, 3, 3]) == pytest.approx(0.0)
    assert gini([0] * 99 + [5]) == pytest.approx(0.99)
    assert gini([0, 0]) is None


def test_monitors_see_concentration_and_what_is_never_shown() -> None:
    found = monitor(
        exposures={"a": 90, "b": 10},
        indexed=["a", "b", "c", "d"],
        first_results=[("q", "a"), ("q", "a"), ("q", "b"), ("r", "b")],
        prior_and_rank=[(0.3, 1), (0.1, 2), (-0.1, 3)],
        consumed_moves=[2, 0, -1, 0],
    )

    assert (found.documents, found.exposures, found.never_exposed_share) == (4, 100, 0.5)
    assert found.rank_1_persistence == 0.5
    assert found.prior_rank_correlation == pytest.approx(-1.0)
    assert found.moved_up_consumption_share == 0.25


def test_the_shown_order_against_itself_is_a_fair_trial_of_coins_and_credit() -> None:
    searches = [a_search("abcdef", "abcdef"[number % 6], f"i{number}") for number in range(2000)]

    found = self_test(searches)

    assert found.decided == 2000
    assert abs(found.b / found.decided - 0.5) < 0.035


def test_figures_count_a_miss_as_zero_and_a_glance_as_short() -> None:
    found = figures([a_search("abc", "b", dwells=[1500]), a_search("abc", "", reformulated=True)])

    assert found.consumed_mrr == 0.25
    assert (found.short_dwell, found.reformulated, found.abandoned) == (Share(1, 1), Share(1, 2), Share(1, 2))


def test_only_this_rankers_searches_speak_for_it() -> None:
    mine = a_search("ba", "b", "i", ranker_mode="interleave", ranker_id="mine", teams=["b", "a"], base_order=["a", "b"])
    mine = replace(mine, reranked_order=["b", "a"])
    others = [replace(mine, ranker_id="other", invocation_id="j"), a_search("ab", "a", "k")]

    found = gather([mine, *others], ranker_id="mine", now=NOW)

    assert (found.votes.b, found.votes.a) == (1, 0)
    assert found.first_team == Share(0, 1)
    assert (found.before.searches, found.after.searches) == (1, 1)
    assert len(randomised([mine, *others])) == 4


def test_like_is_compared_with_like() -> None:
    since = a_search("ab", "a", "i", ranker_mode="on", ranker_id="mine")
    other_tool = a_search("ab", "a", "j", tool="list_recent")

    assert gather([other_tool], ranker_id="mine", now=NOW).before.searches == 1
    assert gather([since, other_tool], ranker_id="mine", now=NOW).before.searches == 0


def test_searches_in_shadow_foretell_the_votes_of_a_week() -> None:
    shadow = [
        a_search("abc", opened, f"i{day}", ranker_id="mine", reranked_order=["b", "a", "c"])
        for day, opened in enumerate(["a", "b", "c", ""])
    ]
    searches = [replace(search, occurred_at=NOW - timedelta(days=day)) for day, search in enumerate(shadow, start=11)]

    assert gather(searches, ranker_id="mine", now=NOW).votes_a_week == pytest.approx(2 / 14 * 7)
    assert gather(searches, ranker_id="other", now=NOW).votes_a_week is None


def test_the_slot_of_exploration_is_a_trial_of_its_rank() -> None:
    explored = a_search("abz", "z", ranker_mode="on", propensities=[1.0, 1.0, 0.04], reranked_order=list("abcz"))

    assert len(randomised([explored, a_search("abc", "a")])) == 3
    assert explored.chances() == {"z": 0.04}


def test_a_draft_is_replayed_without_counting_a_document_for_each_place_it_may_take() -> None:
    random = np.random.default_rng(5)
    relevance = dict(zip("abcdef", [0.3, 0.6, 0.2, 0.5, 0.1, 0.4], strict=True))
    theta = {rank: rank**-0.7 for rank in range(1, 7)}
    base, reranked = list("abcdef"), list("badcfe")
    log = []
    for number in range(20_000):
        slots = team_draft(base, reranked, limit=4, coin=seeded_coin(f"draft-{number}"))
        shown = [slot.anchor for slot in slots]
        opened = [a for rank, a in enumerate(shown, start=1) if random.random() < relevance[a] * theta[rank]]
        draft = a_search("".join(shown), "".join(opened), f"i{number}", ranker_mode="interleave", base_order=base)
        log.append(replace(draft, reranked_order=reranked).logged())

    found = replay(log, [reranked] * len(log), theta, rules=ReplayRules(theta_at_least=0.01, draws=2))

    truth = sum(relevance[anchor] / rank for rank, anchor in enumerate(reranked[:4], start=1))
    assert found.ips == pytest.approx(truth, rel=0.03)


def test_searches_are_read_as_they_were_landed(tmp_path: Path) -> None:
    recall = a_recall(
        "r",
        candidates=(a_candidate(1, "a", team="b", propensity=0.5), a_candidate(2, "b", team="a", propensity=0.5)),
        consumed=(a_consumption(2, "b", dwell_ms=900), a_consumption(None, "z")),
        ranker_mode="interleave",
        ranker_id="mine",
        base_order=("a", "b"),
        reranked_order=("b", "a"),
    )
    still_open = msgspec.structs.replace(recall, recall_id="o", phase="open")

    found = read_searches(a_warehouse(tmp_path, [recall, still_open]), T0 - timedelta(days=1), T0 + timedelta(days=1))

    assert [search.recall_id for search in found] == ["r"]
    assert list(found[0].teams) == ["b", "a"]
    assert list(found[0].ranks) == [2, None]
    assert found[0].logged().consumed == {"b": 1.0, "z": 1.0}


def test_a_ranker_is_replayed_on_the_base_order_with_priors_from_before() -> None:
    searches = [a_search("abcd", "d", f"i{number}") for number in range(10)]
    priors = {"d": a_prior("d", 0.4)}

    found = compare(searches, priors, {}, ["base", "spec", '{"beta": 0.0}'])

    base, spec, flat = found.trials
    assert (base.replayed_mrr, spec.replayed_mrr, flat.replayed_mrr) == (0.25, 1.0, 0.25)
    assert (base.changed, spec.changed, flat.changed) == (0, 10, 0)
    assert spec.estimate.refused


@pytest.mark.parametrize("config", ["{", "other", '{"beta": "much"}'])
def test_a_configuration_that_is_none_is_refused_by_name(config: str) -> None:
    with pytest.raises(ValueError, match=r"beta|expected base"):
        settings_of(config)


def test_the_loop_is_watched_over_logged_searches() -> None:
    moved = a_search("ba", "b", base_order=["a", "b"])

    found = loop_monitors([moved, a_search("ab", "a")], [a_prior("b", 0.3)], {"z": AnchorFacts(kind="feature")})

    assert (found.documents, found.exposures) == (3, 4)
    assert found.rank_1_persistence == 0.0
    assert found.moved_up_consumption_share == 0.5
