-- name: tool_events_in_order
-- grain: one row a raw event, as the line it came in: a session's events together, in the order of a replay
-- source: tool_events
SELECT raw
FROM tool_events
WHERE
    ($since::TIMESTAMPTZ IS NULL OR occurred_at >= $since::TIMESTAMPTZ)
    AND ($until::TIMESTAMPTZ IS NULL OR occurred_at <= $until::TIMESTAMPTZ)
ORDER BY root_session_id, occurred_at, turn_index, event_id
