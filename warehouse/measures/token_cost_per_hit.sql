-- name: token_cost_per_hit
-- title: Token Cost per Hit
-- kind: ratio
-- unit: tokens
-- formula: tokens of query and shown result / consumptions, over searches whose tokens were counted
-- n: consumptions whose search had its tokens counted
-- grain: one figure a slice
-- spec: F200 Phase B, "Token Cost per Hit"
-- since: 0.1.0
SELECT
    slice,
    part,
    sum(tokens) AS num,
    coalesce(sum(consumptions) FILTER (tokens IS NOT NULL), 0) AS den
FROM recalls
GROUP BY slice, part
