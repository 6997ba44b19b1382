-- name: recall_events_page
-- grain: one row a search with its candidates and consumptions, newest first
-- source: recall_events
SELECT * EXCLUDE (_topic, _partition, _offset, _index)
FROM recall_events
WHERE
    ($since::TIMESTAMPTZ IS NULL OR occurred_at >= $since::TIMESTAMPTZ)
    AND ($since::TIMESTAMPTZ IS NULL OR dt >= ($since::TIMESTAMPTZ AT TIME ZONE 'UTC')::DATE)
    AND ($until::TIMESTAMPTZ IS NULL OR occurred_at <= $until::TIMESTAMPTZ)
    AND ($until::TIMESTAMPTZ IS NULL OR dt <= ($until::TIMESTAMPTZ AT TIME ZONE 'UTC')::DATE)
    AND ($agent::VARCHAR IS NULL OR agent_id = $agent)
    AND ($tool::VARCHAR IS NULL OR tool = $tool)
    AND ($surface::VARCHAR IS NULL OR surface = $surface)
ORDER BY occurred_at DESC, recall_id
LIMIT $limit OFFSET $offset
