"""The loop on the embedded broker: what agents open in one month changes, a little, what they are shown in the next."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from deploy.publishing import publish_documents
from deploy.settings import Settings
from deploy.stack import APPLIER, CORRELATOR, SINK, Stack
from memory import applier
from memory.model import Rerank, SearchRequest
from memory.search.answer import outcome
from memory.state.store import Withdrawn
from memory.store import SearchStore
from ranking.explain import Explanation
from ranking.job import compute_priors
from ranking.publisher import PublishedAnchors, publish_priors, publish_run
from streams import codec
from streams.clock import FixedClock
from streams.consumer import KafkaConsumer
from streams.events import (
    AgentId,
    EventId,
    InvocationEnded,
    InvocationId,
    SessionId,
    Source,
    ToolCalled,
    ToolEvent,
    ToolUseId,
)
from streams.recall import AnchorPrior, RecallOutcome
from streams.topics import ANCHOR_PRIORS, TOOL_EVENTS
from warehouse.store import Warehouse

pytestmark = pytest.mark.broker

AS_OF = datetime(2031, 6, 30, 12, tzinfo=UTC)
QUERY = "celadon glaze"
FILLER = "kiln shelf cone clay wheel"

RISES, SINKS, CANON, ONCE = 4, 2, 6, 9
"""Base ranks of what is opened often, never, never but constitutional, and once."""

SEARCHES = 40
"""Each shows the first eight documents; the first six searches show the ninth as well."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the loop came to."""

    base: tuple[str, ...]
    priors: dict[str, AnchorPrior]
    on: tuple[str, ...]
    why: dict[str, Explanation]
    """Of each result of `on`."""
    off: tuple[str, ...]
    other_store: tuple[str, ...]
    without_the_single_reading: tuple[str, ...]
    after_older_run: tuple[str, ...]
    withdrawn: tuple[str, ...]


def write_documents(folder: Path) -> None:
    """Write nine documents that the query ranks by how often they say it; one of them is a decision record."""
    for rank in range(1, 10):
        name = f"decisions/ADR-00{rank}-glaze.md" if rank == CANON else f"features/F10{rank}-glaze.md"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        words = " ".join([QUERY] * (11 - rank) + [FILLER] * (rank + 10))
        path.write_text(f"# Note {rank}\n\n{words}\n", encoding="utf-8")


def opened_by(number: int) -> int | None:
    """Return the base rank that the agent of one invocation opens."""
    if number == 0:
        return ONCE
    return (RISES, RISES, 1, None, 7)[number % 5]


def invocation(number: int, shown: RecallOutcome, docs: Path) -> list[ToolEvent]:
    """Return one agent's turn: a search, a look at one of its results or none, the end."""
    at = AS_OF - timedelta(days=1 + number % 20, minutes=number)

    def base(step: int) -> dict[str, object]:
        return {
            "event_id": EventId(f"loop-{number}-{step}"),
            "occurred_at": at + timedelta(seconds=20 * step),
            "agent_id": AgentId("agent"),
            "runtime": "claude-code",
            "source": Source(adapter="test"),
            "invocation_id": InvocationId(f"inv-{number}"),
            "session_id": SessionId(f"session-{number}"),
            "root_session_id": SessionId(f"session-{number}"),
        }

    def call(step: int, tool: str, **fields: object) -> ToolCalled:
        made = base(step) | {"tool": tool, "tool_use_id": ToolUseId(f"use-{number}-{step}")} | fields
        return ToolCalled(**made)  # type: ignore[arg-type]  # a builder passes what the test names

    found: list[ToolEvent] = [call(0, "search_evidence", input={"query": QUERY}, recall=shown)]
    if (rank := opened_by(number)) is not None:
        path = next(c.target.path for c in shown.candidates if c.rank == rank)  # type: ignore[union-attr]  # all are documents
        found.append(call(1, "Read", input={"file_path": str(docs / path)}))
    found.append(InvocationEnded(**base(2)))  # type: ignore[arg-type]  # as above
    return found


def search(store: SearchStore, rerank: Rerank) -> tuple[str, ...]:
    return tuple(hit.anchor for hit in store.search(SearchRequest(query=QUERY, rerank=rerank)).hits)


def explained(store: SearchStore) -> dict[str, Explanation]:
    hits = store.search(SearchRequest(query=QUERY, rerank="on")).hits
    return {hit.anchor: hit.explanation for hit in hits if hit.explanation is not None}


async def run_loop(folder: Path) -> Outcome:
    settings = Settings(data=folder / "data", flush_seconds=0.2, partitions=2)
    docs = folder / "docs"
    write_documents(docs)
    published = PublishedAnchors(settings.data_dir / "ranking" / "published.json")
    with SearchStore.open(settings.memory_dir, clock=FixedClock(AS_OF - timedelta(days=40))) as store:
        store.index(docs)
        eight, nine = (outcome(store.search(SearchRequest(query=QUERY, limit=limit))) for limit in (8, 9))
    with SearchStore.open(settings.memory_dir, clock=FixedClock(AS_OF)) as store:
        base = search(store, "off")
        async with Stack(settings, roles=(CORRELATOR, SINK, APPLIER)) as stack:
            await publish_documents(stack.emitter, store.documents())
            for number in range(SEARCHES):
                events = invocation(number, nine if number < 6 else eight, docs)
                await stack.emitter.emit(TOOL_EVENTS.name, key=f"session-{number}", value=codec.encode(events))
            await stack.drained()
            warehouse = Warehouse(settings.data_dir)
            priors = compute_priors(warehouse, AS_OF)
            await publish_run(stack.emitter, priors, published, as_of=AS_OF)
            await stack.drained()
            on, off, why = search(store, "on"), search(store, "off"), explained(store)
            other, without = await replica(stack, folder / "replica", docs, forgotten=base[ONCE - 1])
            await publish_priors(stack.emitter, compute_priors(warehouse, AS_OF - timedelta(days=15)))
            await stack.drained()
            after_older = search(store, "on")
            await publish_run(stack.emitter, [], published, as_of=AS_OF)
            await stack.drained()
            return Outcome(
                base=base,
                priors={prior.anchor: prior for prior in priors},
                on=on,
                why=why,
                off=off,
                other_store=other,
                without_the_single_reading=without,
                after_older_run=after_older,
                withdrawn=search(store, "on"),
            )


async def replica(stack: Stack, folder: Path, docs: Path, *, forgotten: str) -> tuple[tuple[str, ...], ...]:
    """Feed a second store from the same topic; return what it shows, and what it shows without one of the priors."""
    with SearchStore.open(folder, clock=FixedClock(AS_OF)) as store:
        store.index(docs)
        topics = [ANCHOR_PRIORS.name]
        async with KafkaConsumer(stack.connection, topics, group="replica", client_id="replica") as consumer:
            while True:
                await applier.step(store, consumer, timeout_s=0.2)
                if not any((await consumer.lag()).values()):
                    shown = search(store, "on")
                    store.put_priors([Withdrawn(forgotten)])
                    return shown, search(store, "on")


@pytest.fixture(scope="module")
def looped(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return asyncio.run(run_loop(tmp_path_factory.mktemp("loop")))


def moved(found: Outcome, base_rank: int, order: Sequence[str]) -> int:
    """Return how many places a document rose."""
    return base_rank - 1 - order.index(found.base[base_rank - 1])


@pytest.mark.timeout(120)
def test_what_agents_keep_opening_from_rank_four_rises_by_at_most_three_places(looped: Outcome) -> None:
    prior = looped.priors[looped.base[RISES - 1]]

    assert (prior.exposures, prior.consumptions) == (SEARCHES, 15.0)
    assert 1 <= moved(looped, RISES, looped.on) <= 3


def test_what_is_shown_forty_times_and_never_opened_falls(looped: Outcome) -> None:
    prior = looped.priors[looped.base[SINKS - 1]]

    assert (prior.exposures, prior.consumptions) == (40, 0.0)
    assert -3 <= moved(looped, SINKS, looped.on) <= -1


def test_a_constitutional_document_that_nobody_opens_never_falls(looped: Outcome) -> None:
    prior = looped.priors[looped.base[CANON - 1]]

    assert (prior.spec.branch, prior.exposures, prior.consumptions) == ("constitutional", SEARCHES, 0.0)
    assert moved(looped, CANON, looped.on) >= 0


def test_a_single_reading_changes_nothing(looped: Outcome) -> None:
    prior, why = looped.priors[looped.base[ONCE - 1]], looped.why[looped.base[ONCE - 1]]

    assert (prior.exposures, prior.consumptions) == (6, 1.0)
    assert why.prior is not None
    assert (why.prior.effect, why.parts["prior"]) == (0.0, 0.0)
    assert looped.without_the_single_reading == looped.other_store


def test_switching_off_restores_the_base_order_exactly(looped: Outcome) -> None:
    assert looped.off == looped.base
    assert looped.on != looped.base


def test_two_stores_fed_by_one_topic_agree(looped: Outcome) -> None:
    assert looped.other_store == looped.on


def test_an_older_run_never_wins(looped: Outcome) -> None:
    assert looped.after_older_run == looped.on


def test_withdrawn_priors_leave_the_order_without_consumption(looped: Outcome) -> None:
    assert looped.withdrawn == looped.base
