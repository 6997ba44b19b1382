"""Walks and consumption order a graph answer under the same switch as search."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from memory.mcp.tools import Toolbox
from memory.model import Document, Rerank
from memory.sources.documents import hashed
from memory.state.store import Withdrawn
from memory.store import SearchStore
from ranking.rerank import RerankSettings, ranker_id
from streams.clock import FixedClock
from streams.recall import RecallOutcome, Walked
from tests.ranking.build import a_prior

NOW = datetime(2031, 6, 30, 12, tzinfo=UTC)
BASE, WALKED = ("K1", "K2", "K3"), ("K1", "K3", "K2")


@pytest.fixture
def store(tmp_path: Path) -> SearchStore:
    found = SearchStore.open(tmp_path, clock=FixedClock(NOW))
    documents = [
        Document(anchor="K1", title="Kiln", related=("K2", "K3")),
        Document(anchor="K2", title="Kiln shelf"),
        Document(anchor="K3", title="Kiln cone"),
    ]
    found.put([hashed(document) for document in documents], origin="test")
    ways = tuple(Walked("K3", NOW - timedelta(days=day)) for day in (1, 2, 3))
    found.put_priors([replace(a_prior("K1"), as_of=NOW, walked=ways)])
    return found


def asked(store: SearchStore, query: str, rerank: Rerank) -> RecallOutcome:
    toolbox = Toolbox(store=store, ranking=lambda: {"rerank": rerank, "estimator": "calibrated"})
    said = toolbox.graph_resolve(query).outcome
    assert said is not None
    return said


@pytest.mark.parametrize(("rerank", "shown"), [("off", BASE), ("shadow", BASE), ("on", WALKED)])
def test_the_neighbour_that_agents_walked_to_stands_first_only_when_on(
    store: SearchStore, rerank: Rerank, shown: tuple[str, ...]
) -> None:
    assert tuple(candidate.anchor for candidate in asked(store, "K1", rerank).candidates) == shown


def test_both_orders_are_logged_as_soon_as_consumption_is_asked(store: SearchStore) -> None:
    off, shadow = asked(store, "K1", "off"), asked(store, "K1", "shadow")

    assert (off.base_order, off.reranked_order, off.ranker_mode) == (None, None, None)
    assert (shadow.base_order, shadow.reranked_order, shadow.ranker_mode) == (BASE, WALKED, "shadow")
    assert shadow.ranker_id == ranker_id(RerankSettings(estimator="calibrated"))
    assert shadow.priors_as_of == NOW


def test_a_candidate_that_was_opened_lately_rises_only_when_on(store: SearchStore) -> None:
    store.put_priors([replace(a_prior("K3"), as_of=NOW, last_consumed_at=NOW)])

    off, on = asked(store, "kiln", "off"), asked(store, "kiln", "on")

    assert [candidate.anchor for candidate in off.candidates].index("K3") == 1
    assert [candidate.anchor for candidate in on.candidates].index("K3") == 0


def test_a_withdrawn_prior_takes_its_walks_with_it(store: SearchStore) -> None:
    store.put_priors([Withdrawn("K1")])

    assert asked(store, "K1", "on").reranked_order == BASE
