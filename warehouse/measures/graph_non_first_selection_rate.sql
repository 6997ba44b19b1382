-- name: graph_non_first_selection_rate
-- title: GraphNonFirstSelectionRate
-- kind: rate
-- unit: share
-- formula: graph searches with a consumed candidate at rank > 1 / graph searches with one at a known rank
-- n: graph searches with a consumed candidate
-- grain: one figure a slice
-- spec: F200 Phase B, "GraphNonFirstSelectionRate"
-- since: 0.1.0
SELECT
    slice,
    part,
    count(*) FILTER (tool = 'graph_resolve' AND last_rank > 1) AS num,
    count(last_rank) FILTER (tool = 'graph_resolve') AS den
FROM recalls
GROUP BY slice, part
