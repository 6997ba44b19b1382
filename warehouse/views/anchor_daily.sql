-- name: anchor_daily
-- grain: one row a day, anchor and surface: what searches of that day showed and what came of it
-- units: exposures and consumptions count searches (an anchor listed twice in one answer was shown once);
--   searches that only the memory server itself reported are left out, as in the measures;
--   ranks and consumed_ranks are histograms: rank -> count, from which any rank figure of any window is exact
-- source: recall_candidate
-- example: SELECT anchor, sum(exposures) AS shown, sum(consumptions) AS opened FROM anchor_daily GROUP BY anchor
SELECT
    dt,
    anchor,
    surface,
    max(doc_kind) AS doc_kind,
    max(path) AS path,
    count(*) AS exposures,
    count(*) FILTER (consumed) AS consumptions,
    coalesce(sum(credit), 0) AS credit,
    min(occurred_at) AS first_shown_at,
    max(occurred_at) AS last_shown_at,
    max(consumed_at) AS last_consumed_at,
    histogram(rank) AS ranks,
    histogram(rank) FILTER (consumed) AS consumed_ranks
FROM recall_candidate
WHERE NOT repeated AND runtime <> 'mcp'
GROUP BY dt, anchor, surface
