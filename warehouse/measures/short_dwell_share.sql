-- name: short_dwell_share
-- title: Short dwell
-- kind: rate
-- unit: share
-- formula: consumptions with less than 2 s to the next call / consumptions with a next call
-- n: consumptions with a next call
-- grain: one figure a slice
-- spec: F200 Phase C, gate condition 2 (dwellProxy below 2 s)
-- since: 0.1.0
SELECT
    slice,
    part,
    coalesce(sum(short_dwells), 0) AS num,
    coalesce(sum(dwells), 0) AS den
FROM recalls
GROUP BY slice, part
