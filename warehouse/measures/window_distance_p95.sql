-- name: window_distance_p95
-- title: Window distance P95
-- kind: p95
-- unit: calls
-- formula: 95th percentile of the calls between a search and a consumption
-- n: consumptions
-- grain: one figure a slice
-- spec: F200 Consumption Window, P95 before the parameters are final
-- since: 0.1.0
SELECT
    slice,
    part,
    histogram(distance) AS num,
    count(distance) AS den
FROM consumptions
GROUP BY slice, part
