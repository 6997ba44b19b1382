-- name: walked
-- grain: one row a document that a graph step of the $days before $asof showed and the agent then opened
-- units: instants; stepped_at = when the graph step was made, consumed_at = when the document was opened
--   The search server's own account (runtime mcp) is left out: no reading follows it
-- source: recall_consumption
SELECT
    invocation_id,
    consumed_at AS at,
    anchor,
    occurred_at AS stepped_at
FROM recall_consumption
WHERE
    dt BETWEEN (($asof::TIMESTAMPTZ - to_days($days::INT)) AT TIME ZONE 'UTC')::DATE
    AND ($asof::TIMESTAMPTZ AT TIME ZONE 'UTC')::DATE
    AND occurred_at >= $asof::TIMESTAMPTZ - to_days($days::INT)
    AND consumed_at <= $asof::TIMESTAMPTZ
    AND tool = 'graph_resolve'
    AND surface = 'memory'
    AND runtime <> 'mcp'
    AND rank IS NOT NULL
ORDER BY invocation_id, consumed_at, anchor
