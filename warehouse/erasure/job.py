"""`trodden forget`: rewrites every day that holds what is to be forgotten, removes the old files, writes a receipt."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from streams.errors import StorageUnavailable
from streams.log import Emitter
from streams.topics import RECALL_EVENTS, TRAJECTORIES
from warehouse import manifest, partition, publisher
from warehouse.erasure.selection import Selection, condition
from warehouse.job import Compacted, Compactor
from warehouse.schema import TABLES, Table
from warehouse.storage.store import LocalStorage, Storage

RECEIPTS = "receipts"
"""Below the data folder."""


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """One day of one table, before and after."""

    table: str
    day: str
    rows_forgotten: int
    rows_left: int
    before: dict[str, str]
    """sha256 of each file that held the day, by path."""
    after: dict[str, str]


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What was forgotten and where it had been; it holds no forgotten id or text, only hashes."""

    kind: str
    fingerprint: str
    """sha256 of the id, or the query hash as given."""
    at: datetime
    days: tuple[Rewritten, ...]
    files_removed: tuple[str, ...]
    tombstones: int
    """Published on the compacted topics, so that a later reader of the log forgets as well."""


@dataclass(slots=True)
class _Found:
    """Ids of what is to be forgotten, as they stand in the tables."""

    recalls: list[str] = field(default_factory=list)
    trajectories: list[str] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)


async def forget(root: str | Path, selection: Selection, now: datetime, *, emitter: Emitter | None = None) -> Receipt:
    """Forget: afterwards no table file holds the selected rows, and measures are as if they had never been there.

    Readers that are in the middle of a query over an old file may fail: erasure does not wait for them.

    Raises:
        StorageUnavailable: while another process compacts the same warehouse.
    """
    storage = LocalStorage(Path(root) / publisher.TABLES_FOLDER)
    compactor = Compactor(storage, root)
    with compactor.alone() as alone:
        if not alone:
            raise StorageUnavailable("expected to be the only one to rewrite files, but a compaction is running")
        found = _look_up(storage, selection)
        days = [
            rewritten
            for table in TABLES
            if (where := condition(table.name, selection)) is not None
            for rewritten in _rewrite(compactor, table, where, found.parameters, now)
        ]
        publisher.publish(storage, compactor.catalog)
        removed = Compacted()
        compactor.collect(now, timedelta(0), removed)
    tombstones = await _bury(emitter, found) if emitter is not None else 0
    receipt = Receipt(
        kind=selection.kind,
        fingerprint=selection.fingerprint,
        at=now,
        days=tuple(days),
        files_removed=tuple(sorted(removed.deleted)),
        tombstones=tombstones,
    )
    name = f"{now:%Y%m%dT%H%M%SZ}-{selection.kind}-{selection.fingerprint[:12]}.json"
    LocalStorage(Path(root) / RECEIPTS).put(name, msgspec.json.format(msgspec.json.encode(receipt), indent=2))
    return receipt


def _look_up(storage: Storage, selection: Selection) -> _Found:
    """Return the ids that are concerned: of every revision and copy, not only of those that the views show."""
    found = _Found(parameters={"value": selection.value, "calls": [], "recalls": []})
    connection = duckdb.connect()
    try:
        recalls = _matching(connection, storage, "recall_events", "recall_id, tool_use_id, query", selection, found)
        found.recalls = sorted({row[0] for row in recalls})
        found.parameters["recalls"] = found.recalls
        found.parameters["calls"] = sorted({row[1] for row in recalls})
        rows = _matching(connection, storage, "trajectories", "trajectory_id", selection, found)
        found.trajectories = sorted({row[0] for row in rows})
    finally:
        connection.close()
    needles = {row[2] for row in recalls} - {""} if selection.query_hash else {selection.value}
    found.parameters["needles"] = [needle.encode().hex().upper() for needle in sorted(needles)]
    return found


def _matching(
    connection: duckdb.DuckDBPyConnection,
    storage: Storage,
    table: str,
    columns: str,
    selection: Selection,
    found: _Found,
) -> list[Any]:
    live = publisher.live(storage, table)
    where = condition(table, selection) or "FALSE"
    query = f"SELECT DISTINCT {columns} FROM {publisher.scan(storage, live.clean + live.tail)} WHERE {where}"
    return connection.execute(query, _used(query, found.parameters)).fetchall()


def _used(query: str, parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if f"${name}" in query}


def _rewrite(
    compactor: Compactor, table: Table, where: str, parameters: dict[str, Any], now: datetime
) -> list[Rewritten]:
    storage = compactor.storage
    live = publisher.live(storage, table.name)
    by_day: dict[str, list[str]] = {}
    for path in live.clean + live.tail:
        if path != partition.seed(table.name):
            by_day.setdefault(str(partition.day_in(path)), []).append(path)
    done: list[Rewritten] = []
    connection = duckdb.connect()
    try:
        for day, paths in sorted(by_day.items()):
            query = f"SELECT count(*) FROM {publisher.scan(storage, paths)} WHERE {where}"
            hits = connection.execute(query, _used(query, parameters)).fetchall()[0][0]
            if hits:
                before = _hashes(storage, paths)
                kept = f"NOT coalesce({where}, FALSE)"
                committed = compactor.rewrite(
                    table, partition.day(paths[0]), paths, now, where=kept, parameters=_used(kept, parameters)
                )
                after = _hashes(storage, [committed.file, *committed.flat.values()] if committed.file else [])
                done.append(
                    Rewritten(
                        table=table.name,
                        day=day,
                        rows_forgotten=hits,
                        rows_left=committed.rows,
                        before=before,
                        after=after,
                    )
                )
    finally:
        connection.close()
    return done


def _hashes(storage: Storage, paths: list[str]) -> dict[str, str]:
    return {path: hashlib.sha256(storage.get(path)).hexdigest() for path in paths}


async def _bury(emitter: Emitter, found: _Found) -> int:
    await emitter.emit_all(RECALL_EVENTS.name, [(name, None) for name in found.recalls])
    await emitter.emit_all(TRAJECTORIES.name, [(name, None) for name in found.trajectories])
    return len(found.recalls) + len(found.trajectories)


def is_forgotten(storage: Storage, text: str) -> list[str]:
    """Return the table files whose decoded values still hold a text; empty after it was forgotten."""
    holding: list[str] = []
    connection = duckdb.connect()
    try:
        for folder in (*(table.name for table in TABLES), manifest.FOLDER):
            for path in storage.find(folder):
                query = f"SELECT count(*) FROM {publisher.scan(storage, [path])} AS t WHERE contains(t::VARCHAR, $text)"
                if connection.execute(query, {"text": text}).fetchall()[0][0]:
                    holding.append(path)
    finally:
        connection.close()
    return holding
