-- name: efforts
-- grain: one row an agent and invocation of a slice: what it first asked, and how often it had to ask anew
-- source: recalls
SELECT
    slice,
    part,
    invocation_id,
    agent_id,
    arg_min(query, {'at': occurred_at, 'id': recall_id}) AS query,
    count(*) FILTER (reformulated) AS reformulations
FROM recalls
GROUP BY slice, part, invocation_id, agent_id
