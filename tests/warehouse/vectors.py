"""Adapters from the shared vectors' inputs to the warehouse: rows become landed searches, the product answers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from streams.recall import RecallEvent, ResultStatus
from tests.warehouse.builders import a_candidate, a_consumption, a_recall, a_warehouse
from warehouse.store import Warehouse

DAY0 = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)

NAMES = {
    "first_consumed_rank_median": "first_consumed_rank",
}
"""Vector keys that are called otherwise here."""


def metrics(case: dict[str, Any]) -> dict[str, Any]:
    """Return the warehouse's answer to one vector of area `metrics`."""
    with tempfile.TemporaryDirectory() as folder:
        if "anchor_events" in case:
            return _anchors(case, Path(folder))
        if "anchors" in case:
            return _kinds(case, Path(folder))
        if "result_counts" in case:
            return _zero_hits(case, Path(folder))
        return _rows(case, Path(folder))


def _answers(warehouse: Warehouse, case: dict[str, Any]) -> dict[str, Any]:
    values = warehouse.measures(NOW, case.get("days", 3650), agent=case.get("agent"), surface=None)
    answers: dict[str, Any] = {value.name: value.value for value in values}
    answers |= {key: answers[name] for key, name in NAMES.items()}
    return answers | {"total_events": next(value.n for value in values if value.name == "result_status_counted")}


def _rows(case: dict[str, Any], root: Path) -> dict[str, Any]:
    recalls = [_recall(index, row) for index, row in enumerate(case["rows"])]
    return _answers(a_warehouse(root, recalls), case)


def _recall(index: int, row: dict[str, Any]) -> RecallEvent:
    shown = row["candidates"]
    ranks = row["consumed_ranks"]
    anchors = [f"A{index}-{rank}" if rank is not None else f"outside{index}-{at}" for at, rank in enumerate(ranks)]
    fields: dict[str, Any] = {
        "candidates": tuple(a_candidate(rank, f"A{index}-{rank}") for rank in range(1, shown + 1)),
        "consumed": tuple(a_consumption(rank, anchor) for rank, anchor in zip(ranks, anchors, strict=True)),
        "result_status": ResultStatus.COUNTED if shown else ResultStatus.NO_RESULTS,
        "result_count": shown,
        "occurred_at": NOW - timedelta(days=row.get("age_days", 0)) + timedelta(milliseconds=row.get("t", 0) - 10_000),
        "reformulated": row.get("reformulated", False),
        "abandoned": row.get("abandoned", False),
        "fell_back_to_grep": row.get("fell_back_to_grep", False),
        "next_graph_resolve_after_read": row.get("next_graph_after_read", False),
        "next_search_distance": row.get("next_search_distance"),
        "tokens_result": row.get("token_cost"),
    }
    if "inv" in row:
        fields["invocation_id"] = row["inv"]
    if "agent" in row:
        fields["agent_id"] = row["agent"]
    if "tool" in row:
        fields["tool"] = row["tool"]
    if "shadow_ranks" in row:
        fields |= {"ranker_mode": "shadow", "reranked_order": _order(anchors, row["shadow_ranks"])}
    return a_recall(f"r{index}", **fields)


def _order(anchors: Sequence[str], ranks: Sequence[int | None]) -> tuple[str, ...]:
    """Return an order in which each anchor stands at its rank; one without a rank is not in it."""
    placed = {rank: anchor for anchor, rank in zip(anchors, ranks, strict=True) if rank is not None}
    return tuple(placed.get(rank, f"other-{rank}") for rank in range(1, max(placed, default=1) + 1))


def _zero_hits(case: dict[str, Any], root: Path) -> dict[str, Any]:
    def status(count: int | None) -> ResultStatus:
        if count is None:
            return ResultStatus.LEGACY_UNKNOWN
        return ResultStatus.COUNTED if count else ResultStatus.NO_RESULTS

    recalls = [
        a_recall(
            f"r{index}",
            occurred_at=NOW,
            result_status=status(count),
            result_count=count,
            candidates=tuple(a_candidate(rank) for rank in range(1, (count or 0) + 1)),
        )
        for index, count in enumerate(case["result_counts"])
    ]
    warehouse = a_warehouse(root, recalls)
    values = {value.name: value for value in warehouse.measures(NOW, 30, surface=None)}
    empty, rate = values["result_status_no_results"], values["zero_hit_rate"]
    return {
        "zero_hits": round((empty.value or 0) * empty.n),
        "observed": rate.n,
        "zero_hit_rate": rate.value,
        "total": empty.n,
    }


def _anchors(case: dict[str, Any], root: Path) -> dict[str, Any]:
    recalls = []
    for index, event in enumerate(case["anchor_events"]):
        consumed = [
            a_consumption(event["shown"].index(anchor) + 1, anchor, consumed_at=DAY0 + timedelta(days=event["day"]))
            for anchor in event["consumed"]
        ]
        shown = [a_candidate(rank, anchor) for rank, anchor in enumerate(event["shown"], start=1)]
        at = DAY0 + timedelta(days=event["day"])
        recalls.append(a_recall(f"r{index}", occurred_at=at, candidates=tuple(shown), consumed=tuple(consumed)))
    anchors = a_warehouse(root, recalls).anchors(DAY0 + timedelta(days=case["now_day"]))
    return {
        anchor.anchor: {
            "consumed_30d": anchor.consumptions,
            "exposure_30d": anchor.exposures,
            "dormancy_days": anchor.dormancy_days,
        }
        for anchor in anchors
    }


def _kinds(case: dict[str, Any], root: Path) -> dict[str, Any]:
    recalls = [
        a_recall(
            f"r{index}-{shown}",
            occurred_at=NOW,
            candidates=(a_candidate(1, f"A{index}", doc_kind=anchor["kind"]),),
            consumed=(a_consumption(1, f"A{index}", consumed_at=NOW),) if shown < anchor["consumed"] else (),
        )
        for index, anchor in enumerate(case["anchors"])
        for shown in range(anchor["exposure"])
    ]
    kinds = a_warehouse(root, recalls).kinds(NOW)
    return {kind.doc_kind: {"mean_ctr": kind.mean_ctr, "samples": kind.anchors} for kind in kinds}


AREAS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"metrics": metrics}
