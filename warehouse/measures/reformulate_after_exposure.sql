-- name: reformulate_after_exposure
-- title: ReformulateAfterExposure
-- kind: rate
-- unit: share
-- formula: searches that showed something, nothing of it consumed, next search at distance <= 3 / searches
-- n: searches
-- grain: one figure a slice
-- spec: F200 Phase B, "ReformulateAfterExposure"
-- since: 0.1.0
SELECT
    slice,
    part,
    count(*) FILTER (shown > 0 AND consumptions = 0 AND next_search_distance <= 3) AS num,
    count(*) AS den
FROM recalls
GROUP BY slice, part
