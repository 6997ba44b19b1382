-- name: kinds
-- grain: one row a document kind: mean over its anchors of consumptions / exposures, anchors without exposure left out
-- source: anchors
SELECT
    coalesce(doc_kind, 'unknown') AS doc_kind,
    avg(consumptions / exposures) AS mean_ctr,
    count(*) AS anchors,
    sum(exposures)::BIGINT AS exposures,
    sum(consumptions)::BIGINT AS consumptions
FROM anchors
WHERE exposures > 0
GROUP BY ALL
ORDER BY doc_kind
