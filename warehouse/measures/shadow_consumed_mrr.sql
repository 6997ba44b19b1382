-- name: shadow_consumed_mrr
-- title: Shadow ConsumedMRR
-- kind: mean
-- unit: reciprocal rank
-- formula: mean of 1 / best consumed rank in the order that was not shown, over searches with such an order and a consumption
-- n: searches with a second order and a consumption
-- grain: one figure a slice
-- spec: F200 shadow vs live ConsumedMRR (AC-C4)
-- since: 0.1.0
SELECT
    slice,
    part,
    coalesce(sum(1.0 / shadow_first_rank) FILTER (has_shadow), 0) AS num,
    count(*) FILTER (has_shadow AND consumptions > 0) AS den
FROM recalls
GROUP BY slice, part
