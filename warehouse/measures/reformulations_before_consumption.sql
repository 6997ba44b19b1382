-- name: reformulations_before_consumption
-- title: ReformulationsBeforeConsumption
-- kind: mean
-- unit: searches
-- formula: mean over invocations with a consumption of the searches before the first that was consumed from
-- n: invocations with a consumption
-- grain: one figure a slice
-- spec: F200 Phase B, "ReformulationsBeforeConsumption"
-- since: 0.1.0
SELECT
    slice,
    part,
    coalesce(sum(searches_before), 0) AS num,
    count(*) AS den
FROM invocations
GROUP BY slice, part
