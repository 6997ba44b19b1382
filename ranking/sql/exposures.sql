-- name: exposures
-- grain: one row an anchor and invocation of the $days before $asof: repeated searches of one turn show a document once
-- units: rank 1-based, the best it was shown at; credit in [0, 1]; age_days before $asof;
--   lists and list_credit count every list of the last $window days that showed it, as the specification does
--   The search server's own account (runtime mcp) is left out: the agent's runtime tells of the same search again, and
--   only there do its later readings follow
-- source: recall_candidate
WITH lists AS (
    SELECT
        invocation_id,
        recall_id,
        anchor,
        min(rank) AS rank,
        any_value(doc_kind) AS doc_kind,
        any_value(path) AS path,
        any_value(tool) AS tool,
        any_value(runtime) AS runtime,
        any_value(occurred_at) AS occurred_at,
        coalesce(max(credit), 0) AS credit
    FROM recall_candidate
    WHERE
        dt BETWEEN (($asof::TIMESTAMPTZ - to_days($days::INT)) AT TIME ZONE 'UTC')::DATE
        AND ($asof::TIMESTAMPTZ AT TIME ZONE 'UTC')::DATE
        AND occurred_at BETWEEN $asof::TIMESTAMPTZ - to_days($days::INT) AND $asof::TIMESTAMPTZ
        AND surface = 'memory'
        AND runtime <> 'mcp'
        AND result_status = 'counted'
    GROUP BY invocation_id, recall_id, anchor
)
SELECT
    anchor,
    coalesce(arg_max(doc_kind, occurred_at), '') AS kind,
    coalesce(arg_max(path, occurred_at), '') AS path,
    min(rank)::INT AS rank,
    arg_min(tool, rank) AS tool,
    arg_min(runtime, rank) AS runtime,
    epoch($asof::TIMESTAMPTZ - max(occurred_at)) / 86400.0 AS age_days,
    least(sum(credit), 1.0)::DOUBLE AS credit,
    count(*) FILTER (occurred_at >= $asof::TIMESTAMPTZ - to_days($window::INT))::INT AS lists,
    coalesce(sum(credit) FILTER (occurred_at >= $asof::TIMESTAMPTZ - to_days($window::INT)), 0)::DOUBLE AS list_credit
FROM lists
GROUP BY invocation_id, anchor
ORDER BY anchor, invocation_id
