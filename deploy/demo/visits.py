"""The plan laid out in time, and what must come of it: the figures that the demo is checked against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from deploy.demo.plan import PLAN, GrepTree, Open, Search, Step, Together, Visit
from streams.recall import Candidate

SearchFunction = Callable[[str], Sequence[Candidate]]
"""Query -> candidates as shown, best first."""

_LAST_DAY = 29
_HOURS = (8, 9, 10, 11, 13, 14, 15, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedVisit:
    """One invocation at its time."""

    visit: Visit
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRecall:
    """What must become of one search."""

    at: datetime
    query: str
    shown: tuple[str, ...]
    consumed: tuple[str, ...]
    """Anchors of shown documents that are opened later in the visit, in order."""
    outside: tuple[str, ...]
    """Anchors of documents that are opened after it although no search of the visit had shown them."""
    first_rank: int | None
    """Rank of the first one that is opened; null when none is."""
    best_rank: int | None
    """Smallest rank among those opened."""
    reformulated: bool
    abandoned: bool
    zero_hit: bool
    fell_back_to_grep: bool


def schedule(as_of: datetime, plan: Sequence[Visit] = PLAN) -> list[PlannedVisit]:
    """Return every visit at its time, earliest first; the same instant gives the same schedule."""
    planned = [
        PlannedVisit(visit=visit, at=_moment(as_of, visit, nth, row))
        for row, visit in enumerate(plan)
        for nth in range(visit.times)
    ]
    return sorted(planned, key=lambda item: item.at)


def _moment(as_of: datetime, visit: Visit, nth: int, row: int) -> datetime:
    days = visit.first_day + (_LAST_DAY - visit.first_day) * nth // max(visit.times - 1, 1)
    midnight = as_of.replace(hour=0, minute=0, second=0, microsecond=0)
    return (
        midnight - timedelta(days=days) + timedelta(hours=_HOURS[row % len(_HOURS)], minutes=7 * row % 60, seconds=nth)
    )


def expected(planned: Sequence[PlannedVisit], search: SearchFunction) -> list[ExpectedRecall]:
    """Return what must become of each search of the schedule, given what the search shows."""
    return [recall for item in planned for recall in _expected_of(item, search)]


def _expected_of(item: PlannedVisit, search: SearchFunction) -> Iterator[ExpectedRecall]:
    steps = _one_by_one(item.visit.steps)
    pools = {index: _pool(step, search) for index, (_, step) in enumerate(steps) if _query(step) is not None}
    for index, ranks in pools.items():
        group, step = steps[index]
        later = [one for _, one in steps[index + 1 :]]
        unasked = [one for other, one in steps[index + 1 :] if other != group]
        opened = [one.anchor for one in later if isinstance(one, Open) and one.anchor in ranks]
        reformulated = bool(unasked) and _asks_memory(unasked[0], ranks)
        yield ExpectedRecall(
            at=item.at,
            query=_query(step) or "",
            shown=tuple(ranks),
            consumed=tuple(dict.fromkeys(opened)),
            outside=tuple(dict.fromkeys(_outside(steps, pools, index))),
            first_rank=ranks[opened[0]] if opened else None,
            best_rank=min((ranks[anchor] for anchor in opened), default=None),
            reformulated=reformulated,
            abandoned=bool(ranks) and not opened and not reformulated,
            zero_hit=not ranks,
            fell_back_to_grep=any(isinstance(one, GrepTree) for one in later),
        )


def _pool(step: Step, search: SearchFunction) -> dict[str, int]:
    """Anchor -> rank of what a step showed."""
    if isinstance(step, Search):
        return {candidate.anchor: candidate.rank for candidate in search(step.query)}
    return {_query(step) or "": 1}


def _outside(steps: Sequence[tuple[int, Step]], pools: Mapping[int, Mapping[str, int]], search: int) -> Iterator[str]:
    """Documents that were opened after this search, the last one before them, and that none had shown."""
    for index, (_, step) in enumerate(steps):
        before = [asked for asked in pools if asked < index]
        if not isinstance(step, Open) or max(before, default=None) != search:
            continue
        if not any(step.anchor in pools[asked] for asked in before):
            yield step.anchor


def _query(step: Step) -> str | None:
    """What a step asks the memory: resolving an anchor is a search too, which shows the anchor itself."""
    if isinstance(step, Search):
        return step.query
    return step.anchor if isinstance(step, Open) and step.how == "graph_resolve" else None


def _one_by_one(steps: Sequence[Step]) -> list[tuple[int, Step]]:
    """Single steps with the number of their message: what was asked together answers nothing of each other."""
    flat: list[tuple[int, Step]] = []
    for number, step in enumerate(steps):
        parts: list[Step] = [Search(query) for query in step.queries] if isinstance(step, Together) else [step]
        flat += [(number, part) for part in parts]
    return flat


def _asks_memory(step: Step, ranks: dict[str, int]) -> bool:
    """The next call is another memory call that opens nothing of what was shown."""
    return isinstance(step, Search) or (
        isinstance(step, Open) and step.how == "graph_resolve" and step.anchor not in ranks
    )
