"""A search and what was found out about it, as the event that is published."""

from __future__ import annotations

from typing import Literal

from correlator.attribution import Hit, Search
from correlator.methods import command_of, text_of
from correlator.window import CorrelatorPolicy
from streams.events import TokenCost, ToolCalled, ToolStatus
from streams.recall import Consumption, RecallEvent, RecallOutcome, ResultStatus
from streams.tokens import estimate_tokens, estimate_tokens_of_bytes

MAX_QUERY = 2_000
"""Characters of a query that are kept."""

_UNKNOWN = {
    ToolStatus.OK: RecallOutcome(result_status=ResultStatus.RESULT_UNMERGED),
    ToolStatus.INTERRUPTED: RecallOutcome(result_status=ResultStatus.RESULT_UNMERGED),
    ToolStatus.ERROR: RecallOutcome(result_status=ResultStatus.ERROR),
    ToolStatus.DENIED: RecallOutcome(result_status=ResultStatus.ERROR),
}
"""What is known of a search that no outcome came with, by how its call ended."""

ClosedBy = Literal["window", "invocation_end", "idle"]


def recall_event(
    search: Search, *, revision: int, closed_by: ClosedBy | None, calls_in_window: int, policy: CorrelatorPolicy
) -> RecallEvent:
    """Return the event of one search as far as it is known.

    Args:
        search: The search with its hits.
        revision: Rises with the events that the conclusion rests on.
        closed_by: What ended the search's window; null while it is open.
        calls_in_window: Calls of the agent behind the search and inside the window.
        policy: Under which it was attributed.
    """
    call = search.call.event
    outcome = call.recall or _UNKNOWN[call.status]
    hits = [*search.hits.values(), *search.outside.values()]
    if len(hits) > 1:
        hits.sort(key=_in_order)
    consumed = tuple(consumption(hit) for hit in hits)
    exposed = bool(outcome.candidates)
    concluded = bool(hits or search.clicks or search.reformulated or search.fell_back or search.graph_after_read)
    tokens = token_cost(call, outcome)
    return RecallEvent(
        recall_id=search.recall_id,
        revision=revision,
        phase="final" if closed_by else "changed" if concluded else "open",
        closed_by=closed_by,
        occurred_at=call.occurred_at,
        ended_at=call.ended_at,
        agent_id=call.agent_id,
        runtime=call.runtime,
        invocation_id=call.invocation_id,
        session_id=call.session_id,
        root_session_id=call.root_session_id,
        thread_id=call.thread_id,
        tool=call.tool,
        tool_use_id=call.tool_use_id,
        surface=search.surface,
        query=query_of(call),
        mode=outcome.mode,
        effective_mode=outcome.effective_mode,
        scope=outcome.scope,
        depth=outcome.depth,
        intent=outcome.intent,
        degraded=outcome.degraded,
        result_status=outcome.result_status,
        result_count=outcome.result_count,
        candidates=outcome.candidates,
        consumed=consumed,
        clicked=tuple(consumption(hit) for hit in search.clicks),
        bundle_id=search.bundle_id,
        clarity=None if not search.hits else "ambiguous" if search.shared else "clean",
        reformulated=search.reformulated,
        abandoned=closed_by is not None and exposed and not search.hits and not search.reformulated,
        zero_hit=outcome.result_status is ResultStatus.NO_RESULTS,
        fell_back_to_grep=search.fell_back,
        next_graph_resolve_after_read=search.graph_after_read,
        next_search_distance=search.next_search,
        calls_in_window=calls_in_window,
        tokens_result=tokens.result,
        tokens_query=tokens.query,
        tokens_quality=tokens.quality,
        window_policy=policy.window.name,
        context_epoch=call.context_epoch,
        clock_skew_ms=search.skew_ms,
        base_order=outcome.base_order,
        reranked_order=outcome.reranked_order,
        other_order=outcome.other_order,
        ranker_id=outcome.ranker_id,
        ranker_mode=outcome.ranker_mode,
    )


def _in_order(hit: Hit) -> tuple[object, ...]:
    return (*hit.call.key, hit.rank is None, hit.rank or 0, hit.anchor)


def consumption(hit: Hit) -> Consumption:
    """Return a hit as it is published."""
    start, end = hit.handle.lines
    return Consumption(
        anchor=hit.anchor,
        rank=hit.rank,
        target=hit.target,
        tool_use_id=hit.call.event.tool_use_id,
        method=hit.call.event.tool,
        consumed_at=hit.call.event.occurred_at,
        distance=hit.distance,
        elapsed_ms=hit.elapsed_ms,
        rule=hit.rule,
        grade=hit.grade,
        depth=hit.depth,
        credit=hit.credit,
        dwell_ms=hit.dwell_ms,
        already_seen=hit.already_seen,
        new_content=hit.handle.new_content,
        context_epoch=hit.call.event.context_epoch,
        start_line=start,
        end_line=end,
    )


def query_of(call: ToolCalled) -> str:
    """Return what a search asked: the outcome's words, else those of the input, else the shell command."""
    if call.recall is not None and call.recall.query:
        return call.recall.query[:MAX_QUERY]
    given = text_of(call.input, "query", "pattern", "q", "name", "since", "anchor")
    return (given or command_of(call.input))[:MAX_QUERY]


def token_cost(call: ToolCalled, outcome: RecallOutcome) -> TokenCost:
    """Return what a search cost its agent; parts that nobody measured are estimated and the quality says so.

    The text that was shown is gone by now: its size in bytes is what is left of it.
    """
    known = call.tokens
    if known.result is not None and known.query is not None:
        return known
    result = known.result
    if result is None and call.result_bytes is not None:
        result = estimate_tokens_of_bytes(call.result_bytes)
    query = known.query if known.query is not None else estimate_tokens(query_of(call))
    measured = known.result is not None
    quality: Literal["native", "estimated", "unknown"] = "unknown" if result is None else "estimated"
    return TokenCost(result=result, query=query, quality=known.quality if measured else quality)
