-- name: first_draft
-- grain: one row
-- units: at = instant of the first interleaved search of the ranker $ranker; null when there is none
-- source: recall_events
SELECT min(occurred_at) AS at FROM recall_events WHERE ranker_mode = 'interleave' AND ranker_id = $ranker
