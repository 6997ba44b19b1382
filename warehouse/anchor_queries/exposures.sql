-- name: exposures
-- grain: one row an anchor and search: an anchor listed twice in one answer was shown once, at its best rank
-- source: recall_candidate
SELECT
    anchor,
    doc_kind,
    rank,
    tool,
    runtime,
    agent_id,
    invocation_id,
    recall_id,
    occurred_at,
    consumed,
    coalesce(credit, 0) AS credit,
    consumed_at,
    dwell_ms,
    coalesce(already_seen, FALSE) AS already_seen,
    clarity,
    propensity,
    team
FROM recall_candidate
WHERE
    NOT repeated
    AND runtime <> 'mcp'  -- reported by the memory server alone: nothing is known of what came of it
    AND dt BETWEEN (($asof::TIMESTAMPTZ - to_days($days::INT)) AT TIME ZONE 'UTC')::DATE
    AND ($asof::TIMESTAMPTZ AT TIME ZONE 'UTC')::DATE
    AND occurred_at BETWEEN $asof::TIMESTAMPTZ - to_days($days::INT) AND $asof::TIMESTAMPTZ
    AND ($surface::VARCHAR IS NULL OR surface = $surface)
ORDER BY occurred_at, recall_id, rank
