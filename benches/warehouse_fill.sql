-- Searches of one day at random: 10 candidates out of 200,000 anchors, none to two consumed.
INSERT INTO shape BY NAME
SELECT
    printf('%032x', i) AS recall_id,
    1 AS revision,
    'final' AS phase,
    $day::TIMESTAMPTZ + to_milliseconds((hash(i) % 86400000)::BIGINT) AS occurred_at,
    'agent-' || (i % 8) AS agent_id,
    'claude-code' AS runtime,
    'i' || (i // 3) AS invocation_id,
    's' || (i // 30) AS session_id,
    's' || (i // 30) AS root_session_id,
    '' AS thread_id,
    ['search_evidence', 'graph_resolve', 'list_recent'][1 + i % 3] AS tool,
    'u' || i AS tool_use_id,
    'memory' AS surface,
    'how are priors of anchors published' AS query,
    FALSE AS degraded,
    'counted' AS result_status,
    10 AS result_count,
    [
        {
            'anchor': 'a' || (hash(i * 11 + r) % 200000), 'rank': r,
            'target': {'kind': 'doc', 'path': 'docs/a' || (hash(i * 11 + r) % 200000) || '.md', 'anchor': '',
                'thread_id': NULL, 'session_id': NULL, 'invocation_id': NULL, 'passage_id': NULL,
                'message_id': NULL, 'url': NULL, 'start_line': NULL, 'end_line': NULL},
            'doc_kind': ['feature', 'decision', 'lesson'][1 + (hash(i + r) % 3)::INT], 'title': '',
            'score': MAP {}::MAP(VARCHAR, DOUBLE), 'propensity': NULL, 'team': NULL
        } FOR r IN range(1, 11)
    ] AS candidates,
    [
        {
            'anchor': 'a' || (hash(i * 11 + r) % 200000), 'rank': r,
            'target': {'kind': 'doc', 'path': 'docs/a' || (hash(i * 11 + r) % 200000) || '.md', 'anchor': '',
                'thread_id': NULL, 'session_id': NULL, 'invocation_id': NULL, 'passage_id': NULL,
                'message_id': NULL, 'url': NULL, 'start_line': NULL, 'end_line': NULL},
            'tool_use_id': 't' || i, 'method': 'Read',
            'consumed_at': $day::TIMESTAMPTZ + to_milliseconds((hash(i) % 86400000)::BIGINT + 9000),
            'distance': r, 'elapsed_ms': 9000, 'rule': 'doc-path', 'grade': 'B', 'depth': 'read', 'credit': 1.0,
            'dwell_ms': 4000, 'already_seen': FALSE, 'new_content': TRUE, 'context_epoch': 0,
            'start_line': NULL, 'end_line': NULL
        } FOR r IN range(1, 11) IF (hash(i * 7 + r) % 10) = 0
    ] AS consumed,
    [] AS clicked,
    (hash(i) % 5) = 0 AS reformulated,
    (hash(i) % 7) = 0 AS abandoned,
    FALSE AS zero_hit,
    (hash(i) % 11) = 0 AS fell_back_to_grep,
    FALSE AS next_graph_resolve_after_read,
    (200 + hash(i) % 3000)::BIGINT AS tokens_result,
    9 AS tokens_query,
    'recall.events.v1' AS _topic,
    0 AS _partition,
    i AS _offset,
    0 AS _index,
    $day::TIMESTAMPTZ AS _logged_at
FROM range($first, $last) AS t(i)
