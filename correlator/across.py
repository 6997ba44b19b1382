"""Consumption across agents of one invocation: a subagent searched, its parent opened what was found (grade E)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from correlator.attribution import Attribution, Hit, Search
from correlator.call import Call, ms_between
from correlator.conclude import consumption
from correlator.invocation import Lane
from correlator.target_match import match
from correlator.window import CorrelatorPolicy
from streams.recall import Consumption, Grade, RecallEvent

Fold = tuple[Lane, Attribution]


def with_credit_across_agents(
    recalls: Sequence[RecallEvent], folds: Sequence[Fold], policy: CorrelatorPolicy
) -> list[RecallEvent]:
    """Return the recalls with what an ancestor of the searching agent opened of them.

    A call that its own agent's searches explain is credited to them alone. Distance counts the ancestor's calls.
    """
    by_agent = {lane.agent_id: (lane, fold) for lane, fold in folds}
    borrowed: dict[str, list[Consumption]] = {}
    for lane, fold in folds:
        for ancestor in _ancestors(lane.agent_id):
            if ancestor in by_agent:
                for search in fold.searches:
                    borrowed.setdefault(search.recall_id, []).extend(_borrowed(search, *by_agent[ancestor], policy))
    return [_with(recall, borrowed.get(recall.recall_id, ())) for recall in recalls]


def _ancestors(agent_id: str) -> list[str]:
    parts = agent_id.split("/")
    return ["/".join(parts[:size]) for size in range(len(parts) - 1, 0, -1)]


def _borrowed(search: Search, lane: Lane, fold: Attribution, policy: CorrelatorPolicy) -> list[Consumption]:
    found: dict[int, Consumption] = {}
    first = bisect_left(lane.calls, search.call.end, key=lambda call: call.at)
    for distance, call in enumerate(lane.calls[first:], start=1):
        if not policy.window.holds(distance, call.at - search.call.at):
            break
        if call.ok and (call.event.tool_use_id, search.surface) not in fold.credited:
            for hit in _opened(search, call, distance):
                found.setdefault(hit.rank or 0, consumption(hit))
    taken = {hit.rank for hit in search.hits.values()}
    return [each for each in found.values() if each.rank not in taken]


def _opened(search: Search, call: Call, distance: int) -> list[Hit]:
    hits: list[Hit] = []
    for handle in call.handles:
        verdicts = [(match(handle, each.target), each) for each in search.candidates]
        fitting = [(-verdict.closeness, each.rank, each, verdict) for verdict, each in verdicts if verdict is not None]
        if not fitting:
            continue
        _, rank, candidate, verdict = min(fitting, key=lambda fit: fit[:2])
        hits.append(
            Hit(
                anchor=candidate.anchor,
                rank=rank,
                target=candidate.target,
                call=call,
                distance=distance,
                elapsed_ms=ms_between(search.call.at, call.at),
                rule=verdict.rule,
                grade=Grade.E,
                handle=handle,
                already_seen=False,
                depth="edit" if handle.edit else "read",
            )
        )
    return hits


def _with(recall: RecallEvent, more: Sequence[Consumption]) -> RecallEvent:
    if not more:
        return recall
    consumed = sorted([*recall.consumed, *more], key=lambda each: (each.consumed_at, each.tool_use_id, each.anchor))
    return msgspec.structs.replace(recall, consumed=tuple(consumed), clarity=recall.clarity or "clean", abandoned=False)
