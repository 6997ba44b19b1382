-- name: outputs
-- grain: one row an invocation that wrote something: its edits, its commits and pull requests, its agent's posts after
-- source: tool_events, messages
SELECT invocation_id, string_agg(text, chr(10)) AS text
FROM (
    SELECT invocation_id, decode(raw) AS text
    FROM tool_events
    WHERE
        status = 'ok'
        AND (
            tool IN ('Edit', 'MultiEdit', 'Write', 'NotebookEdit', 'ApplyPatch')
            OR regexp_matches(decode(raw), '\bgit commit\b|\bgh pr\b')
        )
    UNION ALL
    SELECT invocation_id, text FROM messages WHERE author_kind = 'agent'
)
GROUP BY invocation_id
