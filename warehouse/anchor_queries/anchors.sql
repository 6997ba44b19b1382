-- name: anchors
-- grain: one row an anchor that was ever shown or consumed, or that stands in the index
-- units: exposures and consumptions in the $days before $asof; last_consumed_at over all history before $asof
-- source: anchor_daily, recall_candidate, recall_consumption, documents
WITH bounds AS (
    SELECT
        $asof::TIMESTAMPTZ - to_days($days::INT) AS first_at,
        (($asof::TIMESTAMPTZ - to_days($days::INT)) AT TIME ZONE 'UTC')::DATE AS first_day,
        ($asof::TIMESTAMPTZ AT TIME ZONE 'UTC')::DATE AS last_day
),

-- whole days come from the roll-up; only the two that the window cuts are counted search by search
pieces AS (
    SELECT
        anchor,
        dt > first_day AS inside,
        exposures,
        consumptions,
        credit,
        first_shown_at,
        last_shown_at,
        doc_kind,
        path
    FROM anchor_daily, bounds
    WHERE dt < last_day AND dt <> first_day AND ($surface::VARCHAR IS NULL OR surface = $surface)
    UNION ALL
    SELECT
        anchor,
        occurred_at >= first_at AS inside,
        1 AS exposures,
        consumed::INT AS consumptions,
        coalesce(credit, 0) AS credit,
        occurred_at AS first_shown_at,
        occurred_at AS last_shown_at,
        doc_kind,
        path
    FROM recall_candidate, bounds
    WHERE
        dt IN (first_day, last_day)
        AND NOT repeated
        AND runtime <> 'mcp'
        AND occurred_at <= $asof::TIMESTAMPTZ
        AND ($surface::VARCHAR IS NULL OR surface = $surface)
),

shown AS (
    SELECT
        anchor,
        coalesce(sum(exposures) FILTER (inside), 0)::BIGINT AS exposures,
        coalesce(sum(consumptions) FILTER (inside), 0)::BIGINT AS consumptions,
        coalesce(sum(credit) FILTER (inside), 0) AS credit,
        min(first_shown_at) AS first_shown_at,
        max(last_shown_at) AS last_shown_at,
        max(doc_kind) AS doc_kind,
        max(path) AS path
    FROM pieces
    GROUP BY anchor
),

opened AS (
    SELECT
        anchor,
        max(consumed_at) AS last_consumed_at,
        count(DISTINCT invocation_id) FILTER (
            rank IS NULL AND occurred_at >= $asof::TIMESTAMPTZ - to_days($days::INT)
        ) AS consumptions_outside
    FROM recall_consumption
    WHERE
        runtime <> 'mcp'
        AND occurred_at <= $asof::TIMESTAMPTZ
        AND consumed_at <= $asof::TIMESTAMPTZ
        AND ($surface::VARCHAR IS NULL OR surface = $surface)
    GROUP BY anchor
),

indexed AS (
    SELECT anchor, doc_kind, path, title, authority, status, first_indexed_at
    FROM documents
    WHERE NOT gone
)

SELECT
    anchor,
    coalesce(nullif(i.doc_kind, ''), s.doc_kind) AS doc_kind,
    coalesce(nullif(i.path, ''), s.path, '') AS path,
    coalesce(i.title, '') AS title,
    i.authority AS authority,
    coalesce(s.exposures, 0) AS exposures,
    coalesce(s.consumptions, 0) AS consumptions,
    coalesce(s.credit, 0) AS credit,
    coalesce(o.consumptions_outside, 0) AS consumptions_outside,
    s.first_shown_at AS first_shown_at,
    s.last_shown_at AS last_shown_at,
    o.last_consumed_at AS last_consumed_at,
    date_diff('hour', o.last_consumed_at, $asof::TIMESTAMPTZ) // 24 AS dormancy_days,
    i.first_indexed_at AS first_indexed_at,
    CASE
        WHEN o.last_consumed_at IS NOT NULL THEN 'consumed'
        WHEN s.anchor IS NOT NULL THEN 'shown_never_consumed'
        ELSE 'never_shown'
    END AS history
FROM shown AS s
FULL JOIN opened AS o USING (anchor)
FULL JOIN indexed AS i USING (anchor)
ORDER BY anchor
