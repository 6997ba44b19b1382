-- name: result_status_$status
-- title: Outcome: $status
-- kind: rate
-- unit: share
-- formula: searches that ended as $status / all searches
-- n: searches
-- grain: one figure a slice
-- spec: F200 HW-8, outcome states
-- since: 0.1.0
-- each: status in counted no_results error timeout overflow parser_miss result_unmerged legacy_unknown
SELECT
    slice,
    part,
    count(*) FILTER (result_status = '$status') AS num,
    count(*) AS den
FROM searches
GROUP BY slice, part
