-- name: anchors
-- grain: one row an anchor that is indexed or was ever consumed after a search of memory
-- units: days before $asof; null = never, or unknown
-- source: documents, recall_consumption
WITH consumed AS (
    SELECT anchor, max(occurred_at) AS searched_at
    FROM recall_consumption
    WHERE occurred_at <= $asof::TIMESTAMPTZ AND surface = 'memory'
    GROUP BY anchor
)
SELECT
    anchor,
    coalesce(d.doc_kind, '') AS kind,
    coalesce(d.authority, 'observed') AS authority,
    coalesce(d.path, '') AS path,
    epoch($asof::TIMESTAMPTZ - d.first_indexed_at) / 86400.0 AS days_since_indexed,
    c.searched_at AS last_consumed_at
FROM (SELECT * FROM documents WHERE NOT coalesce(gone, FALSE)) AS d
FULL OUTER JOIN consumed AS c USING (anchor)
ORDER BY anchor
