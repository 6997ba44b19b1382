-- name: consumed_at_$k
-- title: Consumed@$k
-- kind: rate
-- unit: share
-- formula: searches with a consumed candidate at rank <= $k / searches
-- n: searches
-- grain: one figure a slice
-- spec: F200 Phase B, "Consumed@K"
-- since: 0.1.0
-- each: k in 1 3 5 10
SELECT
    slice,
    part,
    count(*) FILTER (first_rank <= $k) AS num,
    count(*) AS den
FROM recalls
GROUP BY slice, part
