"""The demo: the whole main job on a made-up company's documents and sessions, from files to a better search."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from deploy.demo import documents, plan, sessions
from deploy.importing import Stage, Watch, publish_sessions
from deploy.publishing import publish_documents
from deploy.settings import Settings
from deploy.stack import Stack
from memory.model import Hit, IndexReport, SearchRequest
from memory.search.answer import candidate
from memory.store import SearchStore
from ranking.job import compute_priors
from ranking.publisher import PublishedAnchors, publish_run
from streams.clock import FixedClock
from streams.errors import ConfigError
from streams.recall import Candidate
from warehouse.store import Warehouse
from warehouse.values import MeasureValue

MARKER = ".trodden-demo"
"""Lies in a demo's folder: only such a folder is emptied by the next demo."""

MEASURES = (
    "consumed_at_1",
    "consumed_at_3",
    "consumed_mrr",
    "first_consumed_rank",
    "reformulation_rate",
    "search_abandon_rate",
    "grep_fallback_rate",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One result of the demo's search: where it stands, where it stood, and why."""

    anchor: str
    title: str
    rank: int
    rank_before: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What the demo found."""

    folder: str
    documents: int
    sessions: int
    events: int
    searches: int
    consumptions: int
    measures: list[MeasureValue]
    examples: list[str]
    query: str
    before: list[Place]
    after: list[Place]


async def run(settings: Settings, as_of: datetime, *, watch: Watch = lambda _: None) -> Summary:
    """Run the demo in the settings' data folder, which is made anew.

    Args:
        as_of: The demo's present; its sessions lie in the 30 days before.

    Raises:
        ConfigError: when the folder holds something else than an earlier demo.
    """
    folder = clear(settings.data_dir)
    watch(Stage("writing and indexing documents"))
    documents.write(folder / "docs", as_of)
    indexed = index_early(settings, folder / "docs", as_of)
    with SearchStore.open(settings.memory_dir, clock=FixedClock(as_of)) as store:
        sessions.write(folder / "sessions", as_of, shown_by(store), docs=str(folder / "docs"))
        before = store.search(_request("off")).hits
        watch(Stage("starting broker and workers"))
        async with Stack(settings) as stack:
            await publish_documents(stack.emitter, store.documents())
            report = await publish_sessions(stack, [folder / "sessions"], watch=watch)
            watch(Stage("computing and publishing priors"))
            warehouse = Warehouse(settings.data_dir)
            priors = compute_priors(warehouse, as_of)
            published = PublishedAnchors(settings.ranking_dir / "published.json")
            await publish_run(stack.emitter, priors, published, as_of=as_of)
            await stack.drained()
        after = store.search(_request("on")).hits
    figures = {value.name: value for value in warehouse.measures(as_of, 30, surface="memory")}
    return Summary(
        folder=str(folder),
        documents=indexed.documents,
        sessions=len(report.files),
        events=report.published,
        measures=[figures[name] for name in MEASURES],
        examples=examples(warehouse),
        query=plan.HERO_QUERY,
        before=_places(before, before),
        after=_places(after, before),
        **_totals(warehouse),
    )


def index_early(settings: Settings, docs: Path, as_of: datetime) -> IndexReport:
    """Index the documents as of the day before the first session, so that none is too new to be judged."""
    with SearchStore.open(settings.memory_dir, clock=FixedClock(as_of - timedelta(days=31))) as store:
        return store.index(docs)


def clear(folder: Path) -> Path:
    """Empty the folder of an earlier demo, or make a new one, and return it."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MARKER).exists():
        raise ConfigError(f"expected a new folder or an earlier demo's, got {folder}, which holds something else")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / MARKER).touch()
    return folder


def shown_by(store: SearchStore) -> Callable[[str], list[Candidate]]:
    """Return the store's own search, as the made-up agents will have seen it."""

    def search(query: str) -> list[Candidate]:
        return [candidate(hit) for hit in store.search(SearchRequest(query=query)).hits]

    return search


def examples(warehouse: Warehouse, count: int = 3) -> list[str]:
    """Return some searches in words: what was searched, what was opened, after how many calls."""
    rows = warehouse.sql(
        "SELECT DISTINCT ON (query) query, c.rank, c.anchor, c.distance FROM recall_events, unnest(consumed) AS _(c) "
        "WHERE surface = 'memory' AND c.rank IS NOT NULL ORDER BY query, c.rank DESC, occurred_at"
    )
    rows.sort(key=lambda row: -int(row["rank"]))
    return [_in_words(row) for row in rows[:count]]


def _in_words(row: Mapping[str, object]) -> str:
    calls = "1 call" if row["distance"] == 1 else f"{row['distance']} calls"
    return f"searched “{row['query']}” → opened rank {row['rank']} ({row['anchor']}) after {calls}"


def _totals(warehouse: Warehouse) -> dict[str, int]:
    row = warehouse.sql(
        "SELECT count(*) AS searches, coalesce(sum(len(consumed)), 0)::BIGINT AS consumptions "
        "FROM recall_events WHERE surface = 'memory'"
    )[0]
    return {name: int(value) for name, value in row.items()}


def _request(rerank: str) -> SearchRequest:
    return SearchRequest(query=plan.HERO_QUERY, rerank="on" if rerank == "on" else "off", explain=True)


def _places(hits: tuple[Hit, ...], before: tuple[Hit, ...]) -> list[Place]:
    stood = {hit.anchor: hit.rank for hit in before}
    return [
        Place(
            anchor=hit.anchor,
            title=hit.title,
            rank=hit.rank,
            rank_before=hit.explanation.rank_without_prior if hit.explanation else stood.get(hit.anchor, hit.rank),
            reason=hit.reason,
        )
        for hit in hits
    ]
