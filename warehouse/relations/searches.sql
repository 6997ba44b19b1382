-- name: searches
-- grain: one row a search of the asked window and filters, whatever its outcome; `slice` is what the figure is split by,
--   `part` one of $parts groups of whole invocations, which the bootstrap draws from
--   A search that only the memory server itself reported (runtime 'mcp') is left out unless asked for by name: nothing
--   is known of what came of it, and the agent's own transcript usually tells of the same search again.
-- source: recall_fact
SELECT
    *,
    CASE $slice_by
        WHEN 'agent' THEN agent_id
        WHEN 'runtime' THEN runtime
        WHEN 'tool' THEN tool
        WHEN 'surface' THEN surface
        WHEN 'mode' THEN coalesce(mode, 'unknown')
        WHEN 'scope' THEN coalesce(scope, 'unknown')
        WHEN 'status' THEN result_status
        WHEN 'ranker' THEN coalesce(ranker_mode, 'unknown')
        WHEN 'query_length' THEN
            CASE
                WHEN length(query) <= 20 THEN '1-20 characters'
                WHEN length(query) <= 60 THEN '21-60 characters'
                ELSE 'over 60 characters'
            END
        WHEN 'day' THEN dt::VARCHAR
        WHEN 'week' THEN strftime(dt, '%G-W%V')
        ELSE 'all'
    END AS slice,
    (hash(invocation_id) % $parts::UBIGINT)::INT AS part
FROM recall_fact
WHERE
    dt BETWEEN (($asof::TIMESTAMPTZ - to_days($days::INT)) AT TIME ZONE 'UTC')::DATE
    AND ($asof::TIMESTAMPTZ AT TIME ZONE 'UTC')::DATE
    AND occurred_at BETWEEN $asof::TIMESTAMPTZ - to_days($days::INT) AND $asof::TIMESTAMPTZ
    AND ($surface::VARCHAR IS NULL OR surface = $surface)
    AND ($agent::VARCHAR IS NULL OR agent_id = $agent)
    AND ($runtime::VARCHAR IS NULL OR runtime = $runtime)
    AND (runtime <> 'mcp' OR $runtime::VARCHAR = 'mcp')
    AND ($tool::VARCHAR IS NULL OR tool = $tool)
    AND ($credit = 'all' OR clarity IS DISTINCT FROM 'ambiguous')
