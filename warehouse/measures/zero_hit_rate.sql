-- name: zero_hit_rate
-- title: Zero-hit rate
-- kind: rate
-- unit: share
-- formula: searches with an authoritative zero / searches with a known count
-- n: searches with a known count
-- grain: one figure a slice
-- spec: F200 HW-7
-- since: 0.1.0
SELECT
    slice,
    part,
    count(*) FILTER (result_status = 'no_results') AS num,
    count(*) FILTER (result_status IN ('counted', 'no_results')) AS den
FROM searches
GROUP BY slice, part
