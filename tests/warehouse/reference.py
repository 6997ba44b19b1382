"""Every measure again as a plain loop over searches: slow, obvious, written from the specification, not the SQL."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from streams.recall import RecallEvent

Figure = tuple[float | None, int]
"""Value and denominator."""


def _ranks(recall: RecallEvent) -> list[int]:
    return [consumption.rank for consumption in recall.consumed if consumption.rank is not None]


def _share(hits: Iterable[bool]) -> Figure:
    listed = list(hits)
    return (sum(listed) / len(listed) if listed else None), len(listed)


def _mean(values: Sequence[float]) -> Figure:
    return (sum(values) / len(values) if values else None), len(values)


def consumed_at(k: int) -> Callable[[Sequence[RecallEvent]], Figure]:
    return lambda recalls: _share(any(rank <= k for rank in _ranks(recall)) for recall in recalls)


def readthrough_at(k: int) -> Callable[[Sequence[RecallEvent]], Figure]:
    return lambda recalls: _mean(
        [len({rank for rank in _ranks(recall) if rank <= k}) / k for recall in recalls if recall.candidates]
    )


def consumed_mrr(recalls: Sequence[RecallEvent]) -> Figure:
    return _mean([1 / min(_ranks(recall)) if _ranks(recall) else 0.0 for recall in recalls])


def first_consumed_rank(recalls: Sequence[RecallEvent]) -> Figure:
    best = [min(_ranks(recall)) for recall in recalls if _ranks(recall)]
    return (statistics.median(best) if best else None), len(best)


def reformulate_after_exposure(recalls: Sequence[RecallEvent]) -> Figure:
    return _share(
        bool(r.candidates) and not r.consumed and r.next_search_distance is not None and r.next_search_distance <= 3
        for r in recalls
    )


def token_cost_per_hit(recalls: Sequence[RecallEvent]) -> Figure:
    counted = [r for r in recalls if r.tokens_result is not None]
    hits = sum(len(r.consumed) for r in counted)
    spent = sum((r.tokens_result or 0) + (r.tokens_query or 0) for r in counted)
    return (spent / hits if hits else None), hits


def reformulations_before_consumption(recalls: Sequence[RecallEvent]) -> Figure:
    counts: list[float] = []
    for invocation in {r.invocation_id for r in recalls}:
        own = [r for r in recalls if r.invocation_id == invocation]
        hits = [r.occurred_at for r in own if r.consumed]
        if hits:
            counts.append(sum(r.occurred_at < min(hits) for r in own))
    return _mean(counts)


def _second_order(recall: RecallEvent) -> Sequence[str] | None:
    return recall.base_order if recall.ranker_mode == "on" else recall.reranked_order


def shadow_consumed_mrr(recalls: Sequence[RecallEvent]) -> Figure:
    values: list[float] = []
    for recall in recalls:
        order = _second_order(recall)
        if order is not None and recall.consumed:
            places = [order.index(c.anchor) + 1 for c in recall.consumed if c.anchor in order]
            values.append(1 / min(places) if places else 0.0)
    return _mean(values)


def live_on_shadow_subset_mrr(recalls: Sequence[RecallEvent]) -> Figure:
    return consumed_mrr([r for r in recalls if _second_order(r) is not None and r.consumed])


def graph_non_first_selection_rate(recalls: Sequence[RecallEvent]) -> Figure:
    return _share(max(_ranks(r)) > 1 for r in recalls if r.tool == "graph_resolve" and _ranks(r))


MEASURES: dict[str, Callable[[Sequence[RecallEvent]], Figure]] = {
    **{f"consumed_at_{k}": consumed_at(k) for k in (1, 3, 5, 10)},
    **{f"readthrough_at_{k}": readthrough_at(k) for k in (1, 3, 5, 10)},
    "consumed_mrr": consumed_mrr,
    "first_consumed_rank": first_consumed_rank,
    "reformulation_rate": lambda recalls: _share(r.reformulated for r in recalls),
    "search_abandon_rate": lambda recalls: _share(r.abandoned for r in recalls),
    "reformulate_after_exposure": reformulate_after_exposure,
    "grep_fallback_rate": lambda recalls: _share(r.fell_back_to_grep for r in recalls if r.candidates),
    "token_cost_per_hit": token_cost_per_hit,
    "reformulations_before_consumption": reformulations_before_consumption,
    "shadow_consumed_mrr": shadow_consumed_mrr,
    "live_on_shadow_subset_mrr": live_on_shadow_subset_mrr,
    "graph_non_first_selection_rate": graph_non_first_selection_rate,
    "graph_traversal_completion": lambda recalls: _share(
        r.next_graph_resolve_after_read for r in recalls if r.tool == "graph_resolve"
    ),
    "consumed_anchor_not_in_pool_rate": lambda recalls: _share(c.rank is None for r in recalls for c in r.consumed),
    "already_seen_share": lambda recalls: _share(c.already_seen for r in recalls for c in r.consumed),
    "short_dwell_share": lambda recalls: _share(
        c.dwell_ms < 2000 for r in recalls for c in r.consumed if c.dwell_ms is not None
    ),
    "zero_hit_rate": lambda recalls: _share(
        r.result_status == "no_results" for r in recalls if r.result_status in ("counted", "no_results")
    ),
    "window_distance_p95": lambda recalls: _p95([c.distance for r in recalls for c in r.consumed]),
    "window_elapsed_p95": lambda recalls: _p95([c.elapsed_ms // 1000 for r in recalls for c in r.consumed]),
}


def _p95(values: Sequence[int]) -> Figure:
    if len(values) < 2:
        return (float(values[0]) if values else None), len(values)
    return statistics.quantiles(values, n=20, method="inclusive")[-1], len(values)


def in_scope(
    recalls: Iterable[RecallEvent], *, base: str = "known", credit: str = "all", surface: str | None = "memory"
) -> list[RecallEvent]:
    """Return the newest revision of each search that the denominators are over."""
    newest: dict[str, RecallEvent] = {}
    for recall in recalls:
        if recall.recall_id not in newest or newest[recall.recall_id].revision < recall.revision:
            newest[recall.recall_id] = recall
    statuses = ("counted", "no_results") if base == "known" else ("counted",)
    return [
        r
        for r in newest.values()
        if r.result_status in statuses
        and (surface is None or r.surface == surface)
        and (credit == "all" or r.clarity != "ambiguous")
    ]
