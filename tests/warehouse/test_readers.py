"""Analysts read with what they have: Polars, pandas and an older DuckDB see the same rows as we do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped,unused-ignore]
import polars as pl
import pytest

from deploy.docs.tables import empty_catalog
from streams.clock import FixedClock
from streams.testing import LocalLog
from tests.warehouse.builders import T0, a_candidate, a_consumption, a_recall, emit_recalls, land
from warehouse import partition, publisher
from warehouse.schema import TABLES
from warehouse.storage.store import LocalStorage

pytestmark = pytest.mark.anyio

Row = tuple[str, datetime, list[int], float]
"""(recall id, occurred at, ranks shown, credit of the only consumption)."""

EXPECTED: Row = ("r1", T0, [1, 2], 0.5)


@pytest.fixture
async def landed(tmp_path: Path) -> Path:
    log = LocalLog(clock=FixedClock(T0))
    shown = (a_candidate(1), a_candidate(2, title="水壶"))
    await emit_recalls(log, [a_recall("r1", candidates=shown, consumed=(a_consumption(2, credit=0.5),))])
    await land(log, tmp_path)
    return tmp_path


def files_of(folder: Path) -> list[Path]:
    """The files of the searches, as the catalog lists them."""
    storage = LocalStorage(folder / publisher.TABLES_FOLDER)
    return [storage.root / path for path in storage.find("recall_events") if path != partition.seed("recall_events")]


def by_polars(folder: Path) -> list[dict[str, Any]]:
    return pl.read_parquet(files_of(folder)).to_dicts()


def by_pandas(folder: Path) -> list[dict[str, Any]]:
    return [dict(row) for row in pd.read_parquet(files_of(folder)[0]).to_dict("records")]


@pytest.mark.parametrize("read", [by_polars, by_pandas])
async def test_a_frame_library_reads_the_files(landed: Path, read: Callable[[Path], list[dict[str, Any]]]) -> None:
    [row] = read(landed)

    ranks = [int(each["rank"]) for each in row["candidates"]]
    assert (row["recall_id"], row["occurred_at"], ranks, row["consumed"][0]["credit"]) == EXPECTED
    assert row["candidates"][1]["title"] == "水壶"


def duckdb_1_5(database: Path, query: str) -> list[dict[str, Any]]:
    """Ask DuckDB's own command line of version 1.5, as it came with the environment."""
    command = [str(Path(sys.executable).with_name("duckdb")), "-readonly", "-json", str(database), query]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return [dict(row) for row in json.loads(shown or "[]")]


async def test_the_command_line_of_duckdb_1_5_reads_catalog_and_macros(landed: Path) -> None:
    catalog = landed / publisher.CATALOG
    query = (
        "SELECT recall_id, epoch_ms(occurred_at) AS at, [c.rank FOR c IN candidates] AS ranks, "
        "consumed[1].credit AS credit FROM recall_events"
    )

    [row] = duckdb_1_5(catalog, query)
    [version] = duckdb_1_5(catalog, "SELECT version() AS v")
    [flat] = duckdb_1_5(catalog, "SELECT first_rank FROM recall_fact")

    at = datetime.fromtimestamp(row["at"] / 1000, tz=UTC)
    assert (row["recall_id"], at, row["ranks"], row["credit"]) == EXPECTED
    assert flat["first_rank"] == 2
    assert version["v"].startswith("v1.5.")


EXAMPLES = {table.name: table.example for table in TABLES} | {
    view.name: view.header["example"] for view in publisher.flat_views()
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_query_that_the_docs_show_for_a_table_runs(tmp_path: Path, name: str) -> None:
    connection = empty_catalog(tmp_path)

    assert name in EXAMPLES[name]
    assert connection.execute(EXAMPLES[name]).fetchall() == []
