"""The catalog: one small DuckDB file of views and macros over the Parquet files, published by rename.

It lists files one by one. A glob would see files come and go under a running query (compaction); a listed file stays
until its grace has passed. The file is read-only for everyone, so that a tool that opens it for writing is refused
instead of locking the others out, and is written in the storage format of DuckDB 1.5, which older tools can open.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse import measures, partition
from warehouse.measures import Measure, Query
from warehouse.schema import TABLES, Table
from warehouse.storage.store import Storage

CATALOG = "catalog.duckdb"
TABLES_FOLDER = "tables"
"""Below the data folder: one folder a table."""

STORAGE_VERSION = "v1.5.0"


def load(folder: str) -> list[str]:
    """Return the texts of our SQL files in one folder (`measures`, `relations`, `views`), by name."""
    entries = sorted(files("warehouse").joinpath(folder).iterdir(), key=lambda entry: entry.name)
    return [entry.read_text(encoding="utf-8") for entry in entries if entry.name.endswith(".sql")]


def load_text(path: str) -> str:
    """Return the text of one of our SQL files, by its path in this package."""
    return files("warehouse").joinpath(path).read_text(encoding="utf-8")


def load_measures() -> list[Measure]:
    """Return every measure, in the order of their files."""
    return [measure for text in load("measures") for measure in measures.measures_in(text)]


def load_queries(folder: str) -> dict[str, Query]:
    """Return the queries of one folder by name."""
    return {query.name: query for query in map(measures.parse, load(folder))}


def seed(storage: Storage) -> None:
    """Write each table's empty file, where it lacks or has other columns than today's."""
    for table in TABLES:
        data = parquet(table.schema.empty_table())
        path = partition.seed(table.name)
        try:
            if storage.get(path) == data:
                continue
        except FileNotFoundError:
            pass
        storage.put(path, data)


def parquet(table: pa.Table) -> bytes:
    """Return a table as the bytes of a Parquet file."""
    out = pa.BufferOutputStream()
    # Level 1 is 2 % larger than level 15 and 9 times faster to write.
    pq.write_table(table, out, compression="zstd", compression_level=1)
    data: bytes = out.getvalue().to_pybytes()
    return data


def publish(storage: Storage, catalog: Path) -> None:
    """Build the catalog over the files that are there now, and put it in place of the one before.

    Safe to run from several processes at once: the last one wins, and each one's list is whole.
    """
    catalog.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=catalog.parent, prefix=".catalog-") as folder:
        built = Path(folder) / CATALOG
        _build(built, storage)
        built.chmod(0o444)
        os.replace(built, catalog)


def _build(path: Path, storage: Storage) -> None:
    connection = duckdb.connect()
    try:
        connection.execute(f"ATTACH '{path.as_posix()}' AS built (STORAGE_VERSION '{STORAGE_VERSION}')")
        connection.execute("USE built")
        for statement in definitions({table.name: storage.find(table.name) for table in TABLES}, storage):
            connection.execute(statement)
        connection.execute("USE memory")
        connection.execute("DETACH built")
    finally:
        connection.close()


def definitions(paths: dict[str, list[str]], storage: Storage) -> Iterable[str]:
    """Yield the statements that make the catalog: views of the tables, flat views, measures as table macros."""
    for table in TABLES:
        yield _table_view(table, [storage.uri(path) for path in paths[table.name]])
    for view in load_queries("views").values():
        yield f"CREATE OR REPLACE VIEW {view.name} AS\n{view.sql}"
    relations = load_queries("relations")
    yield measures.HISTOGRAM_QUANTILE
    for measure in load_measures():
        yield measures.macro(measure, relations)


def _table_view(table: Table, uris: Sequence[str]) -> str:
    listed = ", ".join("'" + uri.replace("'", "''") + "'" for uri in uris)
    return (
        f"CREATE OR REPLACE VIEW {table.name} AS SELECT * FROM read_parquet([{listed}], union_by_name = true, "
        "hive_partitioning = true, hive_types = {'dt': DATE}) "
        f"QUALIFY row_number() OVER (PARTITION BY {', '.join(table.identity)} ORDER BY {table.newest}) = 1"
    )
