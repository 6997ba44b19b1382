"""Searches for the warehouse benches, as vectors from a seed: 10 candidates each, about as long as real ones."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import msgspec

from streams.recall import Candidate, Consumption, DocRef, RecallEvent, ResultStatus

START = datetime(2026, 9, 1, tzinfo=UTC)
DAYS = 60
AGENTS = 8
TOOLS = ("search_evidence", "graph_resolve", "list_recent")


def message(number: int, dice: random.Random) -> bytes:
    """Return one search as its message value, about 1.3 kB."""
    at = START + timedelta(seconds=dice.randrange(DAYS * 86400))
    shown = tuple(
        Candidate(
            anchor=(name := f"a{int(dice.paretovariate(0.6)) % 200_000}"),
            rank=rank,
            target=DocRef(path=f"docs/{name}.md"),
            doc_kind="feature",
        )
        for rank in range(1, 11)
    )
    hits = sorted(dice.sample(range(10), dice.choice((0, 0, 1, 1, 2))))
    consumed = tuple(
        Consumption(
            anchor=shown[hit].anchor,
            rank=hit + 1,
            target=shown[hit].target,
            tool_use_id=f"t{number}-{hit}",
            method="Read",
            consumed_at=at + timedelta(seconds=9),
            distance=1 + hit,
            elapsed_ms=9000,
            rule="doc-path",
        )
        for hit in hits
    )
    return msgspec.json.encode(
        RecallEvent(
            recall_id=f"{number:032x}",
            revision=1,
            phase="final",
            occurred_at=at,
            agent_id=f"agent-{number % AGENTS}",
            runtime="claude-code",
            invocation_id=f"i{number // 3}",
            session_id=f"s{number // 30}",
            root_session_id=f"s{number // 30}",
            tool=TOOLS[number % 3],
            tool_use_id=f"u{number}",
            surface="memory",
            query="how are priors of anchors published",
            result_status=ResultStatus.COUNTED,
            result_count=10,
            candidates=shown,
            consumed=consumed,
            clarity="clean" if hits else None,
            reformulated=not hits and dice.random() < 0.5,
            abandoned=not hits and dice.random() < 0.3,
            fell_back_to_grep=dice.random() < 0.1,
            tokens_result=dice.randrange(200, 4000),
            tokens_query=9,
        )
    )
