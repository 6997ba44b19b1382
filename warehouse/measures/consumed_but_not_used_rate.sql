-- name: consumed_but_not_used_rate
-- title: ConsumedButNotUsedRate
-- kind: rate
-- unit: share
-- formula: consumed documents that nothing written afterwards names / consumed documents of invocations that wrote something
-- n: consumed documents of invocations that wrote something
-- grain: one figure a slice
-- spec: F200 Phase D, "ConsumedButNotUsedRate"
-- since: 0.1.0
SELECT
    slice,
    part,
    count(*) FILTER (NOT used) AS num,
    count(*) AS den
FROM uses
GROUP BY slice, part
