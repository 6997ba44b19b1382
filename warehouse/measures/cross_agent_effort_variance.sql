-- name: cross_agent_effort_variance
-- title: Cross-Agent Effort Variance
-- kind: deviation
-- unit: searches
-- formula: population deviation over agents of their mean reformulations, over groups of like first queries with two agents or more, weighted by agents; it tells of the index, never of an agent
-- n: groups of like queries that two agents asked
-- grain: one figure a slice
-- spec: F200 Phase D, "Cross-Cat Effort Variance"
-- since: 0.1.0
SELECT
    slice,
    part,
    list({'agent': agent_id, 'query': query, 'reformulations': reformulations}) AS num,
    count(*) AS den
FROM efforts
GROUP BY slice, part
