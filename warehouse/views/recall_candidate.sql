-- name: recall_candidate
-- grain: one row a shown candidate of a search (newest revision), its consumption folded in
-- units: rank 1-based as shown; repeated = the same anchor stands higher in the same answer (it was shown once);
--   credit in (0, 1], null = not consumed; dwell_ms milliseconds
-- source: recall_events
-- example: SELECT rank, avg(consumed::INT) AS share, count(*) AS n FROM recall_candidate GROUP BY rank ORDER BY rank
SELECT
    recall_id,
    dt,
    occurred_at,
    agent_id,
    runtime,
    invocation_id,
    tool,
    surface,
    result_status,
    clarity,
    shown.rank AS rank,
    shown.anchor AS anchor,
    repeated,
    shown.doc_kind AS doc_kind,
    shown.target.kind AS target_kind,
    shown.target.path AS path,
    shown.propensity AS propensity,
    shown.team AS team,
    opened IS NOT NULL AS consumed,
    opened.credit AS credit,
    opened.consumed_at AS consumed_at,
    opened.dwell_ms AS dwell_ms,
    opened.depth AS consumed_depth,
    opened.grade AS grade,
    opened.already_seen AS already_seen,
    opened.method AS method
FROM (
    SELECT
        * EXCLUDE (candidates),
        list_position([c.anchor FOR c IN candidates], shown.anchor) <> place AS repeated,
        list_filter(
            consumed, lambda c: c.rank = shown.rank OR (c.rank IS NOT NULL AND c.anchor = shown.anchor)
        )[1] AS opened
    FROM (SELECT *, unnest(candidates) AS shown, generate_subscripts(candidates, 1) AS place FROM recall_events)
)
