-- name: recall_fact
-- grain: one row a search (newest revision), flat: every figure of a single search without its lists
-- units: *_ms milliseconds; tokens as counted; ranks 1-based, null = not consumed or outside the shown list
-- source: recall_events
-- example: SELECT tool, count(*) AS searches, avg((first_rank <= 3)::INT) AS share FROM recall_fact GROUP BY tool
SELECT
    recall_id,
    revision,
    phase,
    dt,
    occurred_at,
    agent_id,
    runtime,
    invocation_id,
    session_id,
    root_session_id,
    thread_id,
    tool,
    surface,
    query,
    coalesce(effective_mode, mode) AS mode,
    scope,
    depth,
    intent,
    degraded,
    result_status,
    result_count,
    clarity,
    reformulated,
    abandoned,
    zero_hit,
    fell_back_to_grep,
    next_graph_resolve_after_read,
    next_search_distance,
    calls_in_window,
    tokens_result,
    tokens_query,
    tokens_result + coalesce(tokens_query, 0) AS tokens,
    ranker_id,
    ranker_mode,
    window_policy,
    len(candidates)::INT AS shown,
    len(consumed)::INT AS consumptions,
    len([c FOR c IN consumed IF c.rank IS NULL])::INT AS consumptions_outside,
    list_min([c.rank FOR c IN consumed])::INT AS first_rank,
    list_max([c.rank FOR c IN consumed])::INT AS last_rank,
    len(list_distinct([c.rank FOR c IN consumed IF c.rank <= 1]))::INT AS top_1,
    len(list_distinct([c.rank FOR c IN consumed IF c.rank <= 3]))::INT AS top_3,
    len(list_distinct([c.rank FOR c IN consumed IF c.rank <= 5]))::INT AS top_5,
    len(list_distinct([c.rank FOR c IN consumed IF c.rank <= 10]))::INT AS top_10,
    list_sum([c.credit FOR c IN consumed]) AS credit,
    list_min([c.distance FOR c IN consumed])::INT AS first_distance,
    list_min([c.elapsed_ms FOR c IN consumed])::BIGINT AS first_elapsed_ms,
    len([c FOR c IN consumed IF c.dwell_ms IS NOT NULL])::INT AS dwells,
    len([c FOR c IN consumed IF c.dwell_ms < 2000])::INT AS short_dwells,
    len([c FOR c IN consumed IF c.already_seen])::INT AS already_seen,
    CASE WHEN ranker_mode = 'on' THEN base_order ELSE reranked_order END IS NOT NULL AS has_shadow,
    list_min(
        [
            nullif(list_position(CASE WHEN ranker_mode = 'on' THEN base_order ELSE reranked_order END, c.anchor), 0)
            FOR c IN consumed
        ]
    )::INT AS shadow_first_rank
FROM recall_events
