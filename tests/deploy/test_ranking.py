"""How a data folder may rank: by its settings, held to what the gate has said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy.cli.priors import command as priors
from deploy.ranking import judged, ranking_mode, request_fields, weights
from deploy.roles.ranker import watch
from deploy.settings import Settings
from memory.model import SearchRequest
from memory.search.answer import outcome
from memory.store import SearchStore
from ranking.gate import GateReport, Verdict
from ranking.publisher import PublishedAnchors
from ranking.rerank import ranker_id
from ranking.store import GateRecord
from ranking.switch import Override
from streams.clock import FixedClock
from streams.errors import ConfigError
from streams.metrics import Metrics
from streams.recall import AnchorPrior, RecallEvent, SpecPrior
from tests.warehouse.builders import a_candidate, a_consumption, a_recall, a_warehouse

NOW = datetime(2031, 6, 30, 12, tzinfo=UTC)


def a_report(settings: Settings, verdict: Verdict, *, at: datetime = NOW) -> GateReport:
    return GateReport(
        verdict=verdict,
        reason="r",
        decided=0,
        ties=0,
        win_share=None,
        low=0.0,
        high=1.0,
        e_value=1.0,
        conditions=(),
        missing=(),
        weeks=None,
        as_of=at,
        ranker_id=ranker_id(weights(settings)),
        on_since=at if verdict is Verdict.ON else None,
        fell_at=at if verdict is Verdict.ROLLBACK else None,
    )


def test_on_falls_back_to_shadow_until_the_gate_says_so(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, rerank="on")
    record = GateRecord(settings.ranking_dir)

    before = ranking_mode(settings)
    record.remember(a_report(settings, Verdict.ON))

    assert (before.mode, ranking_mode(settings).mode) == ("shadow", "on")
    assert "trodden gate" in before.note


def test_a_rollback_takes_effect_at_the_next_search_even_after_an_override(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, rerank="on")
    record = GateRecord(settings.ranking_dir)
    record.remember(Override(why="pilot", at=NOW, ranker_id=ranker_id(weights(settings)), verdict=None))

    overridden = ranking_mode(settings)
    record.remember(a_report(settings, Verdict.ROLLBACK, at=NOW + timedelta(days=1)))

    assert (overridden.mode, overridden.note) == ("on", "overridden: pilot")
    assert ranking_mode(settings).mode == "shadow"


def votes_for(team: str, times: int) -> list[RecallEvent]:
    """Return interleaved searches whose agents all open what one team placed; the base order is a, b."""
    opened = "a" if team == "a" else "b"
    return [
        a_recall(
            f"v{number}",
            occurred_at=NOW - timedelta(hours=number + 1),
            candidates=(a_candidate(1, "a", team="a"), a_candidate(2, "b", team="b")),
            consumed=(a_consumption(1 if opened == "a" else 2, opened, consumed_at=NOW - timedelta(hours=number)),),
            ranker_mode="interleave",
            ranker_id=ranker_id(weights(Settings())),
            base_order=("a", "b"),
            reranked_order=("b", "a"),
        )
        for number in range(times)
    ]


def test_the_watch_puts_a_ranker_that_agents_do_not_prefer_into_shadow_by_itself(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, rerank="on")
    a_warehouse(tmp_path, votes_for("a", 60))
    record = GateRecord(settings.ranking_dir)
    record.remember(
        Override(why="pilot", at=NOW - timedelta(days=1), ranker_id=ranker_id(weights(settings)), verdict=None)
    )
    before, metrics = ranking_mode(settings).mode, Metrics()

    watch(settings, [], NOW, metrics)

    assert (before, ranking_mode(settings).mode) == ("on", "shadow")
    assert metrics.registry.get_sample_value("trodden_gate_verdict", {"verdict": "ROLLBACK"}) == 1
    assert metrics.registry.get_sample_value("trodden_loop_ratio", {"monitor": "rank_1_persistence"}) == 1
    assert metrics.registry.get_sample_value("trodden_loop_ratio", {"monitor": "prior_rank_correlation"}) is None


def test_no_vote_is_forgotten_however_few_days_are_looked_at(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path, rerank="shadow")
    a_warehouse(tmp_path, votes_for("b", 60))

    assert judged(settings, NOW, days=1).decided == 60
    assert judged(settings, NOW - timedelta(hours=30), days=1).decided == 31


def test_priors_older_than_the_published_ones_are_refused_before_anything_is_computed(tmp_path: Path) -> None:
    PublishedAnchors(Settings(data=tmp_path).ranking_dir / "published.json").write(NOW, ["a"])

    refused = CliRunner().invoke(priors, ["publish", "--as-of", "2031-06-29", "--data", str(tmp_path)])

    assert isinstance(refused.exception, ConfigError)
    assert "2031-06-30" in str(refused.exception)


def test_the_watch_judges_nothing_while_ranking_is_off(tmp_path: Path) -> None:
    settings, metrics = Settings(data=tmp_path), Metrics()
    a_warehouse(tmp_path, votes_for("b", 3))

    watch(settings, [], NOW, metrics)

    assert GateRecord(settings.ranking_dir).report() is None
    assert metrics.registry.get_sample_value("trodden_loop_ratio", {"monitor": "top_10_share"}) == 1


@pytest.mark.parametrize(("rerank", "mode"), [("off", "shadow"), ("shadow", "shadow")])
def test_interleaving_needs_both_orders(tmp_path: Path, rerank: str, mode: str) -> None:
    settings = Settings(data=tmp_path, rerank=rerank, interleave=True)

    assert request_fields(settings)["rerank"] == mode


def test_a_search_logs_both_orders_teams_and_chances_in_its_sidecar(tmp_path: Path) -> None:
    docs = tmp_path / "docs" / "features"
    docs.mkdir(parents=True)
    for number in range(1, 7):
        (docs / f"F10{number}-glaze.md").write_text(
            f"# Note {number}\n\n{'glaze ' * (10 - number)}{'kiln ' * number}\n"
        )
    with SearchStore.open(tmp_path / "memory", clock=FixedClock(NOW)) as store:
        store.index(docs.parent)
        base = [hit.anchor for hit in store.search(SearchRequest(query="glaze")).hits]
        store.put_priors([a_prior(base[3])])
        said = outcome(store.search(SearchRequest(query="glaze", rerank="shadow", interleave=True, limit=4)))

    assert said.ranker_mode == "interleave"
    assert said.base_order == tuple(base)
    assert said.reranked_order is not None
    assert said.reranked_order[0] == base[3]
    assert {candidate.team for candidate in said.candidates} == {"a", "b"}
    assert all(candidate.propensity and 0 < candidate.propensity <= 1 for candidate in said.candidates)


def a_prior(anchor: str) -> AnchorPrior:
    spec = SpecPrior(prior=0.5, branch="full", shrunk_ctr=0.6, mean_ctr_kind=0.1, recency_factor=1.0)
    return AnchorPrior(
        anchor=anchor, doc_kind="feature", as_of=NOW, run_id="r", exposures=40, consumptions=20.0, spec=spec
    )
