-- name: first_consumed_rank
-- title: FirstConsumedRank
-- kind: median
-- unit: rank
-- formula: median of the best consumed rank over searches with one
-- n: searches with a consumed candidate
-- grain: one figure a slice
-- spec: F200 Phase B, "FirstConsumedRank"
-- since: 0.1.0
SELECT
    slice,
    part,
    histogram(first_rank) AS num,
    count(first_rank) AS den
FROM recalls
GROUP BY slice, part
