"""The tables of the warehouse as Arrow schemas: what one row is, and which column says which day and identity.

`dt` is no column of a file: it is the folder (`<table>/dt=YYYY-MM-DD/`), taken from the event's first time, so that
two revisions of one thing always lie in the same day. A target is one flat struct with nulls instead of a union,
which Parquet readers disagree about. Signed integers only: unsigned subtraction fails in SQL.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

TEXT = pa.string()
INSTANT = pa.timestamp("us", tz="UTC")

TARGET = pa.struct(
    [
        ("kind", TEXT),
        ("path", TEXT),
        ("anchor", TEXT),
        ("thread_id", TEXT),
        ("session_id", TEXT),
        ("invocation_id", TEXT),
        ("passage_id", TEXT),
        ("message_id", TEXT),
        ("url", TEXT),
        ("start_line", pa.int32()),
        ("end_line", pa.int32()),
    ]
)
CANDIDATE = pa.struct(
    [
        ("anchor", TEXT),
        ("rank", pa.int32()),
        ("target", TARGET),
        ("doc_kind", TEXT),
        ("title", TEXT),
        ("score", pa.map_(TEXT, pa.float64())),
        ("propensity", pa.float64()),
        ("team", TEXT),
    ]
)
CONSUMPTION = pa.struct(
    [
        ("anchor", TEXT),
        ("rank", pa.int32()),
        ("target", TARGET),
        ("tool_use_id", TEXT),
        ("method", TEXT),
        ("consumed_at", INSTANT),
        ("distance", pa.int32()),
        ("elapsed_ms", pa.int64()),
        ("rule", TEXT),
        ("grade", TEXT),
        ("depth", TEXT),
        ("credit", pa.float64()),
        ("dwell_ms", pa.int64()),
        ("already_seen", pa.bool_()),
        ("new_content", pa.bool_()),
        ("context_epoch", pa.int32()),
        ("start_line", pa.int32()),
        ("end_line", pa.int32()),
    ]
)
STEP = pa.struct(
    [("kind", TEXT), ("at", INSTANT), ("tool", TEXT), ("tool_use_id", TEXT), ("target", TEXT), ("recall_id", TEXT)]
)
SIGNAL = pa.struct(
    [
        ("signal", TEXT),
        ("actor", TEXT),
        ("at", INSTANT),
        ("target", TEXT),
        ("evidence", TEXT),
        ("verifies", pa.bool_()),
    ]
)

POSITION: tuple[tuple[str, pa.DataType], ...] = (
    ("_topic", TEXT),
    ("_partition", pa.int32()),
    ("_offset", pa.int64()),
    ("_index", pa.int32()),
    ("_logged_at", INSTANT),
)
"""Where a row came from: topic, partition, offset, 0-based line in the message, and when the broker took it."""

_EVENT: tuple[tuple[str, pa.DataType], ...] = (
    ("event_id", TEXT),
    ("kind", TEXT),
    ("occurred_at", INSTANT),
    ("agent_id", TEXT),
    ("runtime", TEXT),
    ("invocation_id", TEXT),
    ("session_id", TEXT),
    ("root_session_id", TEXT),
    ("thread_id", TEXT),
    ("schema_version", pa.int32()),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table of the warehouse."""

    name: str
    grain: str
    """What one row of its view is."""
    schema: pa.Schema
    identity: tuple[str, ...]
    """Columns that make a row unique in the view, `dt` included where a revision cannot change it."""
    newest: str
    """SQL order that puts the row to keep first among rows of one identity."""
    columns: tuple[str, ...]
    """Columns that are attributes of the decoded value, in schema order."""
    example: str
    """A query to start from."""


def _table(
    name: str,
    grain: str,
    columns: tuple[tuple[str, pa.DataType], ...],
    *,
    identity: tuple[str, ...],
    newest: str,
    example: str,
    raw: bool = False,
) -> Table:
    tail = ((("raw", pa.binary()),) if raw else ()) + POSITION
    return Table(
        name=name,
        grain=grain,
        schema=pa.schema(list(columns + tail)),
        identity=identity,
        newest=newest,
        columns=tuple(name for name, _ in columns),
        example=example,
    )


TOOL_EVENTS = _table(
    "tool_events",
    "one event of an agent runtime, with the line as it came in `raw`",
    (
        *_EVENT,
        ("tool_use_id", TEXT),
        ("turn_index", pa.int32()),
        ("tool", TEXT),
        ("status", TEXT),
        ("ended_at", INSTANT),
        ("surface", TEXT),
        ("result_status", TEXT),
        ("tokens_result", pa.int64()),
    ),
    identity=("dt", "event_id"),
    newest="_logged_at DESC, _offset DESC, _index DESC",
    example="SELECT runtime, tool, count(*) AS calls FROM tool_events WHERE dt >= current_date - 7 GROUP BY ALL "
    "ORDER BY calls DESC",
    raw=True,
)
MESSAGES = _table(
    "messages",
    "one chat turn of a thread, with the line as it came in `raw`",
    (*_EVENT, ("message_id", TEXT), ("author_kind", TEXT), ("text", TEXT), ("reply_to", TEXT)),
    identity=("dt", "event_id"),
    newest="_logged_at DESC, _offset DESC, _index DESC",
    example="SELECT thread_id, count(*) AS turns, max(occurred_at) AS last FROM messages GROUP BY thread_id "
    "ORDER BY last DESC",
    raw=True,
)
SIGNALS = _table(
    "signals",
    "one outcome signal, with the line as it came in `raw`",
    (*_EVENT, ("signal", TEXT), ("actor", TEXT), ("target", TEXT), ("evidence", TEXT)),
    identity=("dt", "event_id"),
    newest="_logged_at DESC, _offset DESC, _index DESC",
    example="SELECT signal, count(*) AS n FROM signals GROUP BY signal ORDER BY n DESC",
    raw=True,
)
RECALL_EVENTS = _table(
    "recall_events",
    "one search with its candidates and consumptions, newest revision",
    (
        ("recall_id", TEXT),
        ("revision", pa.int64()),
        ("phase", TEXT),
        ("closed_by", TEXT),
        ("occurred_at", INSTANT),
        ("ended_at", INSTANT),
        ("agent_id", TEXT),
        ("runtime", TEXT),
        ("invocation_id", TEXT),
        ("session_id", TEXT),
        ("root_session_id", TEXT),
        ("thread_id", TEXT),
        ("tool", TEXT),
        ("tool_use_id", TEXT),
        ("surface", TEXT),
        ("query", TEXT),
        ("mode", TEXT),
        ("effective_mode", TEXT),
        ("scope", TEXT),
        ("depth", TEXT),
        ("intent", TEXT),
        ("degraded", pa.bool_()),
        ("result_status", TEXT),
        ("result_count", pa.int64()),
        ("candidates", pa.list_(CANDIDATE)),
        ("consumed", pa.list_(CONSUMPTION)),
        ("clicked", pa.list_(CONSUMPTION)),
        ("bundle_id", TEXT),
        ("clarity", TEXT),
        ("reformulated", pa.bool_()),
        ("abandoned", pa.bool_()),
        ("zero_hit", pa.bool_()),
        ("fell_back_to_grep", pa.bool_()),
        ("next_graph_resolve_after_read", pa.bool_()),
        ("next_search_distance", pa.int32()),
        ("calls_in_window", pa.int32()),
        ("tokens_result", pa.int64()),
        ("tokens_query", pa.int64()),
        ("tokens_quality", TEXT),
        ("window_policy", TEXT),
        ("context_epoch", pa.int32()),
        ("clock_skew_ms", pa.int64()),
        ("base_order", pa.list_(TEXT)),
        ("reranked_order", pa.list_(TEXT)),
        ("other_order", pa.list_(TEXT)),
        ("ranker_id", TEXT),
        ("ranker_mode", TEXT),
        ("schema_version", pa.int32()),
    ),
    identity=("dt", "recall_id"),
    newest="revision DESC, _logged_at DESC, _offset DESC, _index DESC",
    example="SELECT query, list_min([c.rank FOR c IN consumed]) AS opened FROM recall_events ORDER BY "
    "occurred_at DESC LIMIT 10",
)
TRAJECTORIES = _table(
    "trajectories",
    "one invocation's way from its searches to its work, newest revision",
    (
        ("trajectory_id", TEXT),
        ("revision", pa.int64()),
        ("phase", TEXT),
        ("invocation_id", TEXT),
        ("session_id", TEXT),
        ("root_session_id", TEXT),
        ("thread_id", TEXT),
        ("agent_id", TEXT),
        ("runtime", TEXT),
        ("started_at", INSTANT),
        ("ended_at", INSTANT),
        ("duration_ms", pa.int64()),
        ("task_context", TEXT),
        ("recall_ids", pa.list_(TEXT)),
        ("steps", pa.list_(STEP)),
        ("files_read", pa.list_(TEXT)),
        ("files_modified", pa.list_(TEXT)),
        ("calls", pa.int32()),
        ("tokens_output", pa.int64()),
        ("tokens_search", pa.int64()),
        ("output_verified", pa.bool_()),
        ("signals", pa.list_(SIGNAL)),
        ("schema_version", pa.int32()),
    ),
    identity=("trajectory_id",),  # an earlier event that arrives late moves started_at, and with it the day
    newest="revision DESC, _logged_at DESC, _offset DESC, _index DESC",
    example="SELECT task_context, duration_ms / 60000 AS minutes, len(recall_ids) AS searches FROM trajectories "
    "ORDER BY started_at DESC",
)
DOCUMENTS = _table(
    "documents",
    "the newest word on one anchor; `gone` when it was a tombstone",
    (
        ("anchor", TEXT),
        ("path", TEXT),
        ("doc_kind", TEXT),
        ("occurred_at", INSTANT),
        ("authority", TEXT),
        ("status", TEXT),
        ("title", TEXT),
        ("first_indexed_at", INSTANT),
        ("updated_at", INSTANT),
        ("aliases", pa.list_(TEXT)),
        ("schema_version", pa.int32()),
        ("gone", pa.bool_()),
    ),
    identity=("anchor",),
    newest="_logged_at DESC, _offset DESC, _index DESC",
    example="SELECT doc_kind, count(*) AS documents FROM documents WHERE NOT gone GROUP BY doc_kind",
)
DEAD_LETTERS = _table(
    "dead_letters",
    "one message or line that could not be used, with its bytes as they came in `raw` and the reason",
    (
        ("letter_id", TEXT),
        ("key", pa.binary()),
        ("stage", TEXT),
        ("reason", TEXT),
        ("source_topic", TEXT),
        ("source_partition", pa.int32()),
        ("source_offset", pa.int64()),
        ("source_line", pa.int32()),
        ("adapter", TEXT),
        ("uri", TEXT),
        ("raw", pa.binary()),
    ),
    identity=("letter_id",),
    newest="_logged_at DESC, _offset DESC",
    example="SELECT stage, reason, count(*) AS n FROM dead_letters GROUP BY ALL ORDER BY n DESC",
)

TABLES: tuple[Table, ...] = (
    TOOL_EVENTS,
    MESSAGES,
    SIGNALS,
    RECALL_EVENTS,
    TRAJECTORIES,
    DOCUMENTS,
    DEAD_LETTERS,
)
"""Every table that the sink lands."""
