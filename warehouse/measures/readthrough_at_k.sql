-- name: readthrough_at_$k
-- title: Readthrough@$k
-- kind: mean
-- unit: share
-- formula: mean over searches that showed something of (consumed candidates at rank <= $k) / $k
-- n: searches that showed something
-- grain: one figure a slice
-- spec: F200 Phase B, "Readthrough@K"
-- since: 0.1.0
-- each: k in 1 3 5 10
SELECT
    slice,
    part,
    coalesce(sum(top_$k) FILTER (shown > 0), 0) / $k.0 AS num,
    count(*) FILTER (shown > 0) AS den
FROM recalls
GROUP BY slice, part
