-- name: searches
-- grain: one row a memory search with a known outcome of the window, newest revision, by time
-- units: ranks 1-based as shown; credit in (0, 1]; dwell_ms milliseconds; propensity in (0, 1]
--   The search server's own account (runtime mcp) is left out: no reading follows it
-- source: recall_events
SELECT
    recall_id,
    invocation_id,
    occurred_at,
    tool,
    query,
    coalesce(ranker_id, '') AS ranker_id,
    coalesce(ranker_mode, 'off') AS ranker_mode,
    [c.anchor FOR c IN candidates] AS shown,
    [c.team FOR c IN candidates] AS teams,
    [c.propensity FOR c IN candidates] AS propensities,
    coalesce(base_order, []) AS base_order,
    coalesce(reranked_order, []) AS reranked_order,
    [c.anchor FOR c IN consumed] AS consumed,
    [c.rank FOR c IN consumed] AS ranks,
    [c.credit FOR c IN consumed] AS credits,
    [c.dwell_ms FOR c IN consumed] AS dwells,
    coalesce(reformulated, FALSE) AS reformulated,
    coalesce(fell_back_to_grep, FALSE) AS fell_back_to_grep,
    coalesce(abandoned, FALSE) AS abandoned
FROM recall_events
WHERE
    dt BETWEEN ($since::TIMESTAMPTZ AT TIME ZONE 'UTC')::DATE AND ($until::TIMESTAMPTZ AT TIME ZONE 'UTC')::DATE
    AND occurred_at > $since::TIMESTAMPTZ
    AND occurred_at <= $until::TIMESTAMPTZ
    AND surface = 'memory'
    AND runtime <> 'mcp'
    AND result_status IN ('counted', 'no_results')
    AND phase = 'final'
ORDER BY occurred_at, recall_id
