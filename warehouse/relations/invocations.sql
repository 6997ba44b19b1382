-- name: invocations
-- grain: one row an invocation of a slice that consumed something, with the searches it made before
-- source: recalls
SELECT
    slice,
    part,
    invocation_id,
    count(*) FILTER (occurred_at < first_hit) AS searches_before
FROM (
    SELECT
        slice,
        part,
        invocation_id,
        occurred_at,
        min(occurred_at) FILTER (consumptions > 0) OVER (PARTITION BY slice, invocation_id) AS first_hit
    FROM recalls
)
WHERE first_hit IS NOT NULL
GROUP BY slice, part, invocation_id
