-- name: search_abandon_rate
-- title: SearchAbandonRate
-- kind: rate
-- unit: share
-- formula: searches that showed something, with nothing consumed and no other query after / searches
-- n: searches
-- grain: one figure a slice
-- spec: F200 Phase B, "SearchAbandonRate"
-- since: 0.1.0
SELECT
    slice,
    part,
    count(*) FILTER (abandoned) AS num,
    count(*) AS den
FROM recalls
GROUP BY slice, part
