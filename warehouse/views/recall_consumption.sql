-- name: recall_consumption
-- grain: one row a consumption of a search (newest revision), those outside the shown list included (rank null)
-- units: distance tool calls of the same agent; *_ms milliseconds; credit in (0, 1]
-- source: recall_events
-- example: SELECT method, count(*) AS n, median(distance) AS calls FROM recall_consumption GROUP BY method
SELECT
    recall_id,
    dt,
    occurred_at,
    agent_id,
    runtime,
    invocation_id,
    tool,
    surface,
    clarity,
    opened.anchor AS anchor,
    opened.target.path AS path,
    opened.rank AS rank,
    opened.method AS method,
    opened.consumed_at AS consumed_at,
    opened.distance AS distance,
    opened.elapsed_ms AS elapsed_ms,
    opened.rule AS rule,
    opened.grade AS grade,
    opened.depth AS consumed_depth,
    opened.credit AS credit,
    opened.dwell_ms AS dwell_ms,
    opened.already_seen AS already_seen
FROM (SELECT *, unnest(consumed) AS opened FROM recall_events)
