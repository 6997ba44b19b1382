"""From landed searches to published priors: what agents keep opening rises, what they ignore falls."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from ranking.job import compute_priors
from ranking.publisher import PublishedAnchors, publish_run
from ranking.rerank import RerankSettings, rerank
from streams.recall import AnchorPrior, RecallEvent
from streams.testing import LocalLog
from streams.topics import ANCHOR_PRIORS
from tests.ranking.build import a_pool
from tests.warehouse.builders import T0, a_candidate, a_consumption, a_recall, a_warehouse

AS_OF = T0 + timedelta(days=20)


def searches(shown: str, opened: str, times: int, *, prefix: str, days_ago: float = 5.0) -> list[RecallEvent]:
    """Return searches, each of its own invocation, that show these one-letter documents; some opened one."""
    found = []
    for number in range(times):
        at = AS_OF - timedelta(days=days_ago, minutes=number)
        consumed = tuple(
            a_consumption(shown.index(anchor) + 1, anchor, consumed_at=at)
            for anchor in (opened[number % len(opened)] if opened else "")
            if anchor != "-"
        )
        found.append(
            a_recall(
                f"{prefix}{number}",
                occurred_at=at,
                candidates=tuple(
                    a_candidate(rank, anchor, doc_kind="feature") for rank, anchor in enumerate(shown, start=1)
                ),
                consumed=consumed,
            )
        )
    return found


def test_what_is_opened_from_rank_four_rises_and_what_is_never_opened_falls(tmp_path: Path) -> None:
    warehouse = a_warehouse(tmp_path, searches("abcdefgh", "dddcb-", 40, prefix="s"))
    priors = {prior.anchor: prior for prior in compute_priors(warehouse, AS_OF)}

    found = rerank(a_pool(*"abcdefgh"), priors, now=AS_OF, settings=RerankSettings(mode="on"), limit=8)

    assert (priors["d"].exposures, priors["d"].consumptions) == (40, 21.0)
    assert (found.explanations["d"].rank, found.explanations["d"].rank_without_prior) == (1, 4)
    assert 2 <= found.explanations["a"].rank <= 4


def test_a_single_reading_changes_nothing(tmp_path: Path) -> None:
    warehouse = a_warehouse(tmp_path, searches("abcd", "d" + "-" * 29, 30, prefix="s"))
    priors = {prior.anchor: prior for prior in compute_priors(warehouse, AS_OF)}

    found = rerank(a_pool(*"abcd"), priors, now=AS_OF, settings=RerankSettings(mode="on"), limit=4)

    assert found.explanations["d"].rank == 4


def test_only_the_last_thirty_days_count_for_the_specification(tmp_path: Path) -> None:
    warehouse = a_warehouse(
        tmp_path, searches("ab", "a", 3, prefix="new") + searches("ab", "a", 7, prefix="old", days_ago=45)
    )

    found = {prior.anchor: prior for prior in compute_priors(warehouse, AS_OF)}

    assert (found["a"].exposures, found["a"].spec.branch) == (3, "cold_start")
    calibrated = found["a"].calibrated
    assert calibrated is not None
    assert calibrated.observed == pytest.approx(3 * 2 ** (-5 / 90) + 7 * 2 ** (-45 / 90), rel=1e-3)


def test_a_shared_reading_counts_its_part(tmp_path: Path) -> None:
    events = searches("ab", "a", 6, prefix="s")
    halved = [
        msgspec.structs.replace(event, consumed=tuple(msgspec.structs.replace(c, credit=0.5) for c in event.consumed))
        for event in events
    ]

    found = {prior.anchor: prior for prior in compute_priors(a_warehouse(tmp_path, halved), AS_OF)}

    assert found["a"].consumptions == 3.0


def test_the_search_servers_own_account_of_a_search_is_no_second_exposure(tmp_path: Path) -> None:
    events = searches("ab", "a", 6, prefix="s")
    told_twice = [*events, *(msgspec.structs.replace(e, recall_id=f"m{e.recall_id}", runtime="mcp") for e in events)]

    found = {prior.anchor: prior for prior in compute_priors(a_warehouse(tmp_path, told_twice), AS_OF)}

    assert found["a"].exposures == 6


def test_an_empty_warehouse_has_no_priors(tmp_path: Path) -> None:
    assert compute_priors(a_warehouse(tmp_path, []), AS_OF) == []


def test_a_run_publishes_every_prior_and_withdraws_what_the_last_one_had(tmp_path: Path) -> None:
    log, published = LocalLog(), PublishedAnchors(tmp_path / "published.json")
    first = compute_priors(a_warehouse(tmp_path / "one", searches("ab", "a", 6, prefix="s")), AS_OF)
    second = compute_priors(
        a_warehouse(tmp_path / "two", searches("bc", "c", 6, prefix="s")), AS_OF + timedelta(days=1)
    )

    asyncio.run(publish_run(log.emitter(), first, published, as_of=AS_OF))
    asyncio.run(publish_run(log.emitter(), second, published, as_of=AS_OF + timedelta(days=1)))

    newest = {record.key: record.value for record in log.records(ANCHOR_PRIORS.name)}
    assert newest.pop(b"a") is None
    assert {key: msgspec.json.decode(value or b"", type=AnchorPrior) for key, value in newest.items()} == {
        prior.anchor.encode(): prior for prior in second
    }


def test_an_older_run_publishes_nothing_and_withdraws_nothing(tmp_path: Path) -> None:
    log, published = LocalLog(), PublishedAnchors(tmp_path / "published.json")
    priors = compute_priors(a_warehouse(tmp_path, searches("ab", "a", 6, prefix="s")), AS_OF)

    asyncio.run(publish_run(log.emitter(), priors, published, as_of=AS_OF))
    sent = asyncio.run(publish_run(log.emitter(), priors[:1], published, as_of=AS_OF - timedelta(days=1)))

    assert (sent, len(log.records(ANCHOR_PRIORS.name))) == (0, 2)
    assert published.read().anchors == {"a", "b"}


def test_two_runs_of_one_instant_publish_the_same_bytes(tmp_path: Path) -> None:
    warehouse = a_warehouse(tmp_path, searches("abc", "ab", 12, prefix="s"))

    assert compute_priors(warehouse, AS_OF) == compute_priors(warehouse, AS_OF)
