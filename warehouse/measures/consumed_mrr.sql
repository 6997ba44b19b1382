-- name: consumed_mrr
-- title: ConsumedMRR
-- kind: mean
-- unit: reciprocal rank
-- formula: mean of 1 / best consumed rank, a miss counts 0
-- n: searches
-- grain: one figure a slice
-- spec: F200 Phase B, "ConsumedMRR"
-- since: 0.1.0
SELECT
    slice,
    part,
    coalesce(sum(1.0 / first_rank), 0) AS num,
    count(*) AS den
FROM recalls
GROUP BY slice, part
