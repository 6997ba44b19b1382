"""The catalog: one small DuckDB file of views and macros over the Parquet files, published by rename.

It lists files one by one. A glob would see files come and go under a running query (compaction); a listed file stays
until its grace has passed. The file is read-only for everyone, so that a tool that opens it for writing is refused
instead of locking the others out, and is written in the storage format of DuckDB 1.5, which older tools can open.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from importlib.resources import files
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from warehouse import manifest, measures, partition
from warehouse.manifest import Live, Manifest
from warehouse.measures import Measure, Query
from warehouse.schema import TABLES, Table
from warehouse.storage.store import LocalStorage, Storage

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


DICTIONARY_ROWS = 500
"""Rows from which the dictionaries of a file's columns are worth their set-up."""


def parquet(table: pa.Table) -> bytes:
    """Return a table as the bytes of a Parquet file, made to be written fast: a compaction makes it small.

    Measured on 4 searches (124 leaf columns): 2.0 ms and 18 kB instead of 7.1 ms and 37 kB with zstd, dictionaries,
    statistics and Arrow's own schema, without which every type of ours comes back; on 5,000: 29 ms instead of 41.
    """
    out = pa.BufferOutputStream()
    pq.write_table(
        table,
        out,
        compression="lz4",
        use_dictionary=table.num_rows >= DICTIONARY_ROWS,
        write_statistics=False,
        store_schema=False,
    )
    data: bytes = out.getvalue().to_pybytes()
    return data


def publish(storage: Storage, catalog: Path) -> None:
    """Build the catalog over the files that are live now, and put it in place of the one before.

    Safe to run from several processes at once: they take turns, so that an older list never replaces a newer one.
    """
    catalog.parent.mkdir(parents=True, exist_ok=True)
    with (
        locked(catalog.with_name(".catalog.lock")),
        scratch(catalog.with_name(".catalog")) as folder,
    ):
        built = folder / CATALOG
        shutil.copyfile(_template(catalog.parent), built)
        _execute(built, views(storage), storage)
        built.chmod(0o444)
        os.replace(built, catalog)


def _template(folder: Path) -> Path:
    """Return a catalog over no rows, made once for each version of our SQL.

    Checking the macros takes most of the time and depends on columns only, so that a new list of files need not
    repeat it: the copy gets other views, and the macros find them by name.
    """
    texts = [text for name in ("views", "relations", "measures") for text in load(name)]
    version = "\n".join([duckdb.__version__, *(str(table.schema) for table in TABLES), *texts])
    template = folder / f".catalog-{hashlib.sha256(version.encode()).hexdigest()[:12]}.duckdb"
    if not template.exists():
        with scratch(folder / ".template") as made_in:
            seeds = LocalStorage(made_in / TABLES_FOLDER)
            seed(seeds)
            built = made_in / CATALOG
            computed = [f"CREATE VIEW {view.name} AS\n{view.sql}" for view in flat_views()]
            _execute(built, [*views(seeds), *computed, *macros()], seeds)
            os.replace(built, template)
    return template


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """Yield an empty folder, removed afterwards. Its user holds a lock: what already lies in it, a kill has left."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock between processes; the kernel frees it when its holder dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _execute(path: Path, statements: Iterable[str], storage: Storage) -> None:
    connection = duckdb.connect()
    try:
        storage.open_to(connection)
        connection.execute(f"ATTACH '{path.as_posix()}' AS built (STORAGE_VERSION '{STORAGE_VERSION}')")
        connection.execute("USE built")
        for statement in statements:
            connection.execute(statement)
        connection.execute("USE memory")
        connection.execute("DETACH built")
    finally:
        connection.close()


def manifests_of(storage: Storage, table: str) -> dict[date, Manifest]:
    """Return the committed compactions of a table, by day."""
    found = [manifest.decode(storage.get(path)) for path in storage.find(f"{manifest.FOLDER}/{table}", manifest.NAME)]
    return {item.day: item for item in found}


def flat_views() -> list[Query]:
    """Return the flat views of searches, those that are read from another one last."""
    return sorted(
        load_queries("views").values(), key=lambda view: (view.header["source"] != "recall_events", view.name)
    )


def flat_version() -> str:
    """Return a digest of the SQL that makes the flat files."""
    return hashlib.sha256("\n".join(load("views")).encode()).hexdigest()[:12]


def live(storage: Storage, table: str) -> Live:
    """Return the live files of a table."""
    # Manifests first: a compaction that commits in between then only hides files that are listed here as well.
    manifests = manifests_of(storage, table)
    return manifest.live(storage.find(table), manifests, flat_version())


def views(storage: Storage) -> Iterator[str]:
    """Yield the statements that make the views of the tables, and of the flat files, over the files that are live."""
    for table in TABLES:
        files_ = live(storage, table.name)
        yield _table_view(table, files_, storage)
        if files_.flat:  # else they are computed from the searches, as the template has it
            yield _recall_tail(table, files_, storage)
            for view in flat_views():
                yield _flat_view(view, files_.flat[view.name], storage)


def macros() -> Iterator[str]:
    """Yield the statements that make the measures callable in the catalog."""
    relations = load_queries("relations")
    yield measures.HISTOGRAM_QUANTILE
    for measure in load_measures():
        if measure.kind != "deviation":
            yield measures.macro(measure, relations)


def scan(storage: Storage, paths: Sequence[str]) -> str:
    """Return the SQL that reads these files, with the day of their folder as column `dt`."""
    listed = ", ".join("'" + storage.uri(path).replace("'", "''") + "'" for path in paths)
    return f"read_parquet([{listed}], union_by_name = true, hive_partitioning = true, hive_types = {{'dt': DATE}})"


def distinct(table: Table, source: str) -> str:
    """Return the SQL of a table's rows, each identity once, its newest row."""
    return (
        f"SELECT * FROM {source} "
        f"QUALIFY row_number() OVER (PARTITION BY {', '.join(table.identity)} ORDER BY {table.newest}) = 1"
    )


def _table_view(table: Table, files_: Live, storage: Storage) -> str:
    if "dt" not in table.identity or not files_.clean:
        return f"CREATE OR REPLACE VIEW {table.name} AS {distinct(table, scan(storage, files_.clean + files_.tail))}"
    clean = f"SELECT * FROM {scan(storage, files_.clean)}"
    tail = distinct(table, scan(storage, files_.tail))
    return f"CREATE OR REPLACE VIEW {table.name} AS ({tail}) UNION ALL BY NAME ({clean})"


TAIL = "recall_events_unflattened"
"""Helper view: the searches of days that have no flat files."""


def _recall_tail(table: Table, files_: Live, storage: Storage) -> str:
    return f"CREATE OR REPLACE VIEW {TAIL} AS {distinct(table, scan(storage, files_.unflattened + files_.tail))}"


def _flat_view(view: Query, flat: Sequence[str], storage: Storage) -> str:
    """Return a flat view: files where a compaction made them, computed from the searches elsewhere."""
    computed = re.sub(r"\brecall_events\b", TAIL, view.sql)
    if view.header["source"] != "recall_events":
        computed = f"WITH {view.header['source']} AS ({_on_tail(view.header['source'])})\n{view.sql}"
    return f"CREATE OR REPLACE VIEW {view.name} AS ({computed}) UNION ALL BY NAME (SELECT * FROM {scan(storage, flat)})"


def _on_tail(name: str) -> str:
    return re.sub(r"\brecall_events\b", TAIL, load_queries("views")[name].sql)
