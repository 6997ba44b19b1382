-- name: graph_traversal_completion
-- title: GraphTraversalCompletion
-- kind: rate
-- unit: share
-- formula: graph searches followed by a read and another graph search / graph searches
-- n: graph searches
-- grain: one figure a slice
-- spec: F200 Phase B, "GraphTraversalCompletion"
-- since: 0.1.0
SELECT
    slice,
    part,
    count(*) FILTER (tool = 'graph_resolve' AND next_graph_resolve_after_read) AS num,
    count(*) FILTER (tool = 'graph_resolve') AS den
FROM recalls
GROUP BY slice, part
