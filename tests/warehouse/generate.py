"""Searches at random, from a seed or from hypothesis: every field that a measure reads takes every value it can."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from streams.recall import RecallEvent, ResultStatus
from tests.warehouse.builders import T0, a_candidate, a_consumption, a_recall


def recalls(size: int, seed: int) -> list[RecallEvent]:
    """Return searches with distinct ids, some in two revisions."""
    dice = random.Random(seed)
    made = [_recall(f"r{number}", dice) for number in range(size)]
    newer = [
        _recall(old.recall_id, dice, revision=2, at=old.occurred_at, agent=old.agent_id)
        for old in made
        if dice.random() < 0.1
    ]
    return [*made, *newer]


def _recall(name: str, dice: random.Random, **fixed: Any) -> RecallEvent:
    status = dice.choices(list(ResultStatus), weights=[16, 4, *[1] * (len(ResultStatus) - 2)])[0]
    shown = dice.randint(1, 12) if status is ResultStatus.COUNTED else 0
    anchors = [f"F{dice.randint(1, 40)}" for _ in range(shown)]
    ranks: list[int | None] = list(dice.sample(range(1, shown + 1), min(shown, dice.choice([0, 0, 1, 1, 2, 3]))))
    if dice.random() < 0.1:
        ranks.append(None)
    order = dice.sample(anchors, len(anchors)) if dice.random() < 0.4 else None
    fields: dict[str, Any] = {
        "occurred_at": fixed.pop("at", None) or T0 + timedelta(seconds=dice.randint(0, 10 * 86400)),
        "revision": fixed.get("revision", 1),
        "invocation_id": f"inv-{dice.randint(1, 40)}",
        "agent_id": fixed.get("agent") or dice.choice(["ada", "bob", "cyd"]),
        "runtime": dice.choice(["claude-code", "codex-cli"]),
        "tool": dice.choice(["search_evidence", "graph_resolve", "list_recent"]),
        "surface": dice.choice(["memory", "memory", "code_search"]),
        "query": dice.choice(["anchor priors", "priors of anchors", "锚点 先验", "x" * 80]),
        "mode": dice.choice([None, "hybrid", "lexical"]),
        "result_status": status,
        "candidates": tuple(a_candidate(rank, anchor) for rank, anchor in enumerate(anchors, start=1)),
        "consumed": tuple(
            a_consumption(
                rank,
                anchors[rank - 1] if rank else f"out{index}",
                distance=dice.randint(1, 30),
                elapsed_ms=dice.randint(0, 400_000),
                dwell_ms=dice.choice([None, 100, 1999, 2000, 9000]),
                already_seen=dice.random() < 0.2,
            )
            for index, rank in enumerate(ranks)
        ),
        "clarity": dice.choice(["clean", "ambiguous"]) if ranks else None,
        "reformulated": dice.random() < 0.3,
        "abandoned": dice.random() < 0.3,
        "fell_back_to_grep": dice.random() < 0.2,
        "next_graph_resolve_after_read": dice.random() < 0.2,
        "next_search_distance": dice.choice([None, 1, 3, 4]),
        "tokens_result": dice.choice([None, 0, 120, 4000]),
        "tokens_query": dice.choice([None, 12]),
        "ranker_mode": dice.choice([None, "off", "shadow", "on"]),
        "base_order": order,
        "reranked_order": dice.sample(anchors, len(anchors)) if order is not None else None,
    }
    return a_recall(name, **fields)
