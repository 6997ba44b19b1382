-- name: window_elapsed_p95
-- title: Window elapsed P95
-- kind: p95
-- unit: seconds
-- formula: 95th percentile of whole seconds between a search and a consumption
-- n: consumptions
-- grain: one figure a slice
-- spec: F200 Consumption Window, P95 before the parameters are final
-- since: 0.1.0
SELECT
    slice,
    part,
    histogram(elapsed_ms // 1000) AS num,
    count(elapsed_ms) AS den
FROM consumptions
GROUP BY slice, part
