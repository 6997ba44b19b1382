-- name: grep_fallback_rate
-- title: GrepFallbackRate
-- kind: rate
-- unit: share
-- formula: searches followed by a tree search in the window / searches that showed something
-- n: searches that showed something
-- grain: one figure a slice
-- spec: F200 Phase B, "GrepFallbackRate"
-- since: 0.1.0
SELECT
    slice,
    part,
    count(*) FILTER (shown > 0 AND fell_back_to_grep) AS num,
    count(*) FILTER (shown > 0) AS den
FROM recalls
GROUP BY slice, part
