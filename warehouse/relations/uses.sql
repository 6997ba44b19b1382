-- name: uses
-- grain: one row a document that an invocation consumed, where the invocation wrote something;
--   used = it was edited, or what was written names its anchor (as a whole word) or its path
-- source: consumptions, outputs
SELECT
    c.slice,
    c.part,
    c.invocation_id,
    c.anchor,
    bool_or(
        c.consumed_depth = 'edit'
        OR (c.path <> '' AND contains(o.text, c.path))
        OR regexp_matches(o.text, '(^|[^\w-])' || regexp_escape(c.anchor) || '($|[^\w-])')
    ) AS used
FROM consumptions AS c
INNER JOIN outputs AS o USING (invocation_id)
GROUP BY c.slice, c.part, c.invocation_id, c.anchor
