-- name: live_on_shadow_subset_mrr
-- title: Live ConsumedMRR on the shadow rows
-- kind: mean
-- unit: reciprocal rank
-- formula: mean of 1 / best consumed rank as shown, over the rows of the shadow figure
-- n: searches with a second order and a consumption
-- grain: one figure a slice
-- spec: F200 shadow vs live ConsumedMRR (AC-C4)
-- since: 0.1.0
SELECT
    slice,
    part,
    coalesce(sum(1.0 / first_rank) FILTER (has_shadow), 0) AS num,
    count(*) FILTER (has_shadow AND consumptions > 0) AS den
FROM recalls
GROUP BY slice, part
