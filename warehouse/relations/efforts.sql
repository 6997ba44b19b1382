-- name: efforts
-- grain: one row an invocation of a slice: what it was first asked, and how often it had to ask anew
-- source: recalls
SELECT
    slice,
    part,
    invocation_id,
    any_value(agent_id) AS agent_id,
    arg_min(query, occurred_at) AS query,
    count(*) FILTER (reformulated) AS reformulations
FROM recalls
GROUP BY slice, part, invocation_id
