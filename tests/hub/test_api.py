"""The REST API answers with the warehouse's own figures, to whom it should."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from hub.api.app import create
from memory.mcp.tools import Toolbox
from memory.model import Document, SearchRequest
from memory.sources.documents import hashed
from memory.store import SearchStore
from streams.clock import FixedClock
from streams.errors import ConfigError
from tests.ranking.build import NOW, a_prior
from tests.warehouse.builders import T0, a_consumption, a_recall, a_warehouse
from warehouse.store import Warehouse


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    recalls = [
        a_recall(f"r{n}", agent_id="ada" if n % 2 else "bob", consumed=(a_consumption(1 + n % 3),), occurred_at=T0)
        for n in range(7)
    ]
    return a_warehouse(tmp_path_factory.mktemp("api"), recalls)


@pytest.fixture
def client(warehouse: Warehouse) -> TestClient:
    return TestClient(create(warehouse, clock=FixedClock(T0 + timedelta(hours=1))))


def test_metrics_are_the_figures_of_the_warehouse(client: TestClient, warehouse: Warehouse) -> None:
    answer = client.get("/api/recall/metrics?days=7&agent=ada&refresh=1").json()

    expected = {v.name: v.value for v in warehouse.measures(T0 + timedelta(hours=1), 7, agent="ada")}
    assert {value["name"]: value["value"] for value in answer["measures"]} == expected
    mrr = next(value for value in answer["measures"] if value["name"] == "consumed_mrr")
    assert {"n", "low", "high", "state", "as_of"} <= mrr.keys()


def test_metrics_can_be_split_and_a_wrong_split_is_refused(client: TestClient) -> None:
    answer = client.get("/api/recall/metrics?by=agent&name=consumed_at_1").json()

    assert [value["slice"] for value in answer["measures"]] == ["ada", "bob"]
    assert client.get("/api/recall/metrics?by=moon").status_code == 422
    assert client.get("/api/recall/metrics?days=0").status_code == 422


def test_events_come_in_pages_without_gap_or_overlap(client: TestClient) -> None:
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = client.get(f"/api/recall/events?limit=3&offset={offset}").json()
        seen += [event["recall_id"] for event in page["events"]]
        offset = page["next_offset"]

    assert sorted(seen) == [f"r{n}" for n in range(7)]


def test_anchors_are_listed_by_consumption(client: TestClient) -> None:
    answer = client.get("/api/recall/anchors?limit=2").json()

    assert answer["total"] == 3
    assert [anchor["anchor"] for anchor in answer["anchors"]] == ["F1", "F2"]
    assert answer["anchors"][0]["consumptions"] == 3


def test_the_diagnosis_has_a_verdict_and_its_findings(client: TestClient) -> None:
    answer = client.get("/api/recall/diagnosis").json()

    assert answer["verdict"] == "unknown"
    assert [finding["layer"] for finding in answer["findings"]] == ["recall", "attribution", "ranking"]


def test_beyond_the_loopback_every_request_needs_the_token(warehouse: Warehouse) -> None:
    client = TestClient(create(warehouse, token="s3cret", host="0.0.0.0"))

    assert client.get("/api/recall/metrics").status_code == 401
    assert client.get("/api/recall/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert client.get("/api/recall/metrics", headers={"Authorization": "Bearer s3cret"}).status_code == 200
    with pytest.raises(ConfigError, match="TRODDEN_TOKEN"):
        create(warehouse, host="0.0.0.0")


def test_every_path_is_described(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]

    assert set(paths) == {"/api/recall/metrics", "/api/recall/diagnosis", "/api/recall/anchors", "/api/recall/events"}
    assert all(path["get"]["summary"] for path in paths.values())


def test_search_answers_with_a_waterfall_whose_parts_sum_to_the_score(warehouse: Warehouse, tmp_path: Path) -> None:
    with SearchStore.open(tmp_path, clock=FixedClock(NOW)) as store:
        store.put([hashed(Document(anchor=f"K{n}", title=f"kiln {n}")) for n in range(3)], origin="test")
        last = store.search(SearchRequest(query="kiln")).hits[-1].anchor
        store.put_priors([a_prior(last, z=0.5)])
        tools = Toolbox(store=store, ranking=lambda: {"rerank": "on"})
        client = TestClient(create(warehouse, tools=tools))

        results = client.get("/api/evidence/search?q=kiln").json()["results"]
        wrong = client.get("/api/evidence/search?q=kiln&date_from=soon")

    for result in results:
        assert sum(result["score_parts"].values()) == pytest.approx(result["score"])
        assert result["ranking"]["parts"] == result["score_parts"]
    assert results[0]["anchor"] == last
    assert results[0]["ranking"]["rank_without_prior"] == 3
    assert results[0]["ranking"]["prior"]["exposures"] == 40
    assert {"expected", "low", "high"} <= results[0]["ranking"]["prior"].keys()
    assert wrong.status_code == 422


def test_no_page_loads_anything_from_elsewhere(client: TestClient) -> None:
    assert [client.get(path).status_code for path in ("/docs", "/redoc", "/openapi.json")] == [404, 404, 200]
