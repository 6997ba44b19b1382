-- name: consumptions
-- grain: one row a consumption of a search in scope
-- source: recalls, recall_consumption
SELECT r.slice, r.part, c.*
FROM recall_consumption AS c
INNER JOIN (SELECT slice, part, recall_id FROM recalls) AS r USING (recall_id)
