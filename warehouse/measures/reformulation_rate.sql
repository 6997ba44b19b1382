-- name: reformulation_rate
-- title: Reformulation Rate
-- kind: rate
-- unit: share
-- formula: searches followed at once by another search / searches
-- n: searches
-- grain: one figure a slice
-- spec: F200 Phase B, "Reformulation Rate"
-- since: 0.1.0
SELECT
    slice,
    part,
    count(*) FILTER (reformulated) AS num,
    count(*) AS den
FROM recalls
GROUP BY slice, part
