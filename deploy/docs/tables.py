"""docs/tables.md: the tables and views of the catalog with grain, columns, units, and a query to start from."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import duckdb

from deploy.docs.fields import field_docs
from streams import deadletter, events, recall
from warehouse import publisher
from warehouse.schema import POSITION, TABLES, Table
from warehouse.storage.store import LocalStorage

SHAPES: dict[str, tuple[type, ...]] = {
    "tool_events": (events.EventBase, events.ToolCalled, recall.RecallOutcome, events.TokenCost),
    "messages": (events.EventBase, events.MessagePosted),
    "signals": (events.EventBase, events.OutcomeSignalled),
    "recall_events": (recall.RecallEvent,),
    "trajectories": (recall.TaskTrajectory,),
    "documents": (events.EventBase, events.DocumentIndexed),
    "dead_letters": (deadletter.DeadLetter,),
}
"""Table -> the shapes whose fields its columns are, the more particular last."""

OWN_WORDS = {
    "dt": "Day of the folder, UTC, from the event's first time; filter on it to read less.",
    "raw": "The line or message as it came.",
    "gone": "The newest word was a tombstone.",
    "_topic": "Topic the row came from.",
    "_partition": "Partition there.",
    "_offset": "Offset there.",
    "_index": "0-based line in the message.",
    "_logged_at": "When the broker took it.",
}
"""Columns that are no field of an event."""


def tables_page() -> str:
    """Return docs/tables.md."""
    with tempfile.TemporaryDirectory() as folder:
        connection = empty_catalog(Path(folder))
        tables = "\n\n".join(_table(table, columns(connection, table.name)) for table in TABLES)
        views = "\n\n".join(
            f"## {view.name}\n\n{_sentence(view.header['grain'])} {_sentence(view.header['units'])}\n\n"
            f"```sql\n{view.header['example']}\n```\n\n{_columns(columns(connection, view.name), {})}"
            for view in publisher.flat_views()
        )
        connection.close()
    return (
        "<!-- written by `make docs`; edit the code instead -->\n# Tables\n\n"
        "Views of `catalog.duckdb`, read by the DuckDB command line or any client (`read_only=True`), also while the "
        "workers write.\nEach reads immutable Parquet files below `tables/`; it keeps the newest row of an identity.\n"
        "Instants are UTC; what was not measured is null.\n\n"
        f"{tables}\n\n{views}\n"
    )


def empty_catalog(folder: Path) -> duckdb.DuckDBPyConnection:
    """Return a connection to a catalog over no rows, made in this folder."""
    storage = LocalStorage(folder / publisher.TABLES_FOLDER)
    publisher.seed(storage)
    publisher.publish(storage, folder / publisher.CATALOG)
    connection = duckdb.connect(folder / publisher.CATALOG, read_only=True)
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def columns(connection: duckdb.DuckDBPyConnection, view: str) -> list[tuple[str, str]]:
    """Return (name, SQL type) of the columns of a table or view."""
    return [(str(row[0]), str(row[1])) for row in connection.execute(f"DESCRIBE {view}").fetchall()]


def _table(table: Table, found: Sequence[tuple[str, str]]) -> str:
    meanings = {field.name: field.text for shape in SHAPES[table.name] for field in field_docs(shape)}
    key = ", ".join(f"`{name}`" for name in table.identity)
    position = {name for name, _ in POSITION}
    found = [*(one for one in found if one[0] not in position), *(one for one in found if one[0] in position)]
    return (
        f"## {table.name}\n\n{_sentence(table.grain)} Identity: {key}.\n\n```sql\n{table.example}\n```\n\n"
        f"{_columns(found, meanings | OWN_WORDS)}"
    )


def _columns(found: Sequence[tuple[str, str]], meanings: dict[str, str]) -> str:
    rows = [f"| `{name}` | `{_short(kind)}` | {_cell(meanings.get(name, ''))} |" for name, kind in found]
    return "\n".join(["| column | type | |", "|---|---|---|", *rows])


def _short(kind: str) -> str:
    """A struct's fields stand in docs/events.md; here they would fill the page."""
    suffix = "[]" if kind.endswith("[]") else ""
    return f"STRUCT{suffix}" if kind.startswith("STRUCT") else kind


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return f"{words[:1].upper()}{words[1:]}."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
