-- name: consumed_anchor_not_in_pool_rate
-- title: Consumed anchor not in pool
-- kind: rate
-- unit: share
-- formula: consumptions of indexed documents that the search had not shown / consumptions
-- n: consumptions
-- grain: one figure a slice
-- spec: F200 consumed_anchor_not_in_pool_rate
-- since: 0.1.0
SELECT
    slice,
    part,
    coalesce(sum(consumptions_outside), 0) AS num,
    coalesce(sum(consumptions), 0) AS den
FROM recalls
GROUP BY slice, part
