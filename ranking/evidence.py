"""Logged searches to what the gate looks at: votes, coins, the self-test, and figures before and since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ranking.anchors import AnchorFacts
from ranking.counterfactual import LoggedSearch
from ranking.gate import Evidence, Figures
from ranking.interleave import Tally, Team, credited, placement_chances, seeded_coin, tally, team_draft
from ranking.monitors import LoopMonitors, monitor
from ranking.propensity import Shown
from ranking.sequential import Share
from streams.recall import AnchorPrior

SHORT_DWELL_MS = 2000
"""Under it a consumption is a glance (F200, gate condition 2)."""

SINCE_MODES = frozenset({"interleave", "on"})
"""Regimes in which the reranked order was shown, alone or in a draft."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """One memory search with a known outcome, by `ranking/sql/searches.sql`."""

    recall_id: str
    invocation_id: str
    occurred_at: datetime
    tool: str
    query: str
    ranker_id: str
    ranker_mode: str
    shown: Sequence[str]
    teams: Sequence[str | None]
    propensities: Sequence[float | None]
    base_order: Sequence[str]
    reranked_order: Sequence[str]
    consumed: Sequence[str]
    ranks: Sequence[int | None]
    credits: Sequence[float]
    dwells: Sequence[int | None]
    reformulated: bool
    fell_back_to_grep: bool
    abandoned: bool

    def logged(self) -> LoggedSearch:
        """Return what a replay needs; consumptions outside the list count against its coverage."""
        return LoggedSearch(
            invocation=self.invocation_id,
            shown=self.shown,
            consumed=dict(zip(self.consumed, self.credits, strict=True)),
            chances=self.chances(),
        )

    def chances(self) -> dict[str, float]:
        """Return the chance that each shown anchor had to be shown; an anchor that is not named had 1.

        A draft is worked out again from both orders. Outside of drafts only the slot of exploration is left to chance,
        and of what stands there only that which would else have stayed below the cut.
        """
        if self.ranker_mode == "interleave":
            found: dict[str, float] = {}
            for place in placement_chances(self.base_order, self.reranked_order, len(self.shown)):
                for anchor, chance in place.items():
                    found[anchor] = found.get(anchor, 0.0) + chance
            return found
        order = self.reranked_order if self.ranker_mode == "on" else self.base_order
        above = set(order[: len(self.shown)])
        named = zip(self.shown, self.propensities, strict=True)
        return {anchor: chance for anchor, chance in named if chance is not None and anchor not in above and order}


def gather(
    searches: Sequence[Search],
    *,
    ranker_id: str,
    now: datetime,
    fixtures_failed: tuple[str, ...] = (),
    on_since: datetime | None = None,
    fell_at: datetime | None = None,
) -> Evidence:
    """Return the evidence on one ranker; searches of other rankers, shown to agents, count for nobody.

    Like is compared with like: of the time before, only searches by the tools that the ranker has ordered since.
    """
    since = [s for s in searches if s.ranker_mode in SINCE_MODES and s.ranker_id == ranker_id]
    tools = {s.tool for s in since}
    before = [s for s in searches if s.ranker_mode not in SINCE_MODES and (s.tool in tools or not tools)]
    drafted = [s for s in since if s.ranker_mode == "interleave"]
    shadowed = [s for s in before if s.ranker_id == ranker_id]
    return Evidence(
        votes=votes(drafted),
        first_team=Share(sum(s.teams[0] == "a" for s in drafted if s.teams), sum(bool(s.teams) for s in drafted)),
        self_test=self_test(before),
        before=figures(before),
        after=figures(since),
        fixtures_failed=fixtures_failed,
        votes_a_week=votes_a_week(drafted or shadowed, now),
        on_since=on_since,
        fell_at=fell_at,
        now=now,
    )


def votes_a_week(searches: Sequence[Search], now: datetime) -> float | None:
    """Return how many invocations a week open something that the two orders place differently; None without searches.

    These are the ones that a draft of both orders lets vote, so searches in shadow foretell it.
    """
    if not searches:
        return None
    voting = {s.invocation_id for s in searches if _tells_apart(s)}
    days = (now - min(s.occurred_at for s in searches)).total_seconds() / 86400.0
    return len(voting) / max(1.0, days) * 7.0


def _tells_apart(search: Search) -> bool:
    base, reranked = _places(search.base_order), _places(search.reranked_order)
    return any(base.get(anchor) != reranked.get(anchor) for anchor in search.consumed if anchor in search.shown)


def votes(searches: Iterable[Search]) -> Tally:
    """Return the votes of interleaved searches, one an invocation."""
    return tally(
        [
            (
                s.invocation_id,
                credited(list(zip(s.shown, s.teams, strict=True)), s.base_order, s.reranked_order, set(s.consumed)),
            )
            for s in searches
        ]
    )


def self_test(searches: Iterable[Search]) -> Tally:
    """Return the votes between the shown order and itself: two equal orders draft the list that was shown, so every
    logged search is a trial of the coins and the credit, and neither team may win.
    """  # noqa: D205  # one sentence
    found: list[tuple[str, Team | None]] = []
    for search in searches:
        slots = team_draft(search.shown, search.shown, limit=len(search.shown), coin=seeded_coin(search.recall_id))
        opened = set(search.consumed)
        score = sum((1 if slot.team == "b" else -1) for slot in slots if slot.anchor in opened)
        found.append((search.invocation_id, None if score == 0 else "b" if score > 0 else "a"))
    return tally(found)


def figures(searches: Sequence[Search]) -> Figures:
    """Return how these searches fared: ConsumedMRR over all with a known outcome, and the friction rates."""
    if not searches:
        return Figures()
    dwells = [dwell for search in searches for dwell in search.dwells if dwell is not None]
    answered = [search for search in searches if search.shown]
    return Figures(
        consumed_mrr=sum(_reciprocal(search) for search in searches) / len(searches),
        searches=len(searches),
        short_dwell=Share(sum(dwell < SHORT_DWELL_MS for dwell in dwells), len(dwells)),
        reformulated=Share(sum(search.reformulated for search in searches), len(searches)),
        grep_fallback=Share(sum(search.fell_back_to_grep for search in answered), len(answered)),
        abandoned=Share(sum(search.abandoned for search in searches), len(searches)),
    )


def randomised(searches: Iterable[Search]) -> list[Shown]:
    """Return the exposures from which examination chances can be learned: same query, same document, other ranks.

    Chance put them there: a draft of both orders, or the slot that is given to exploration.
    """
    return [
        Shown(
            pair=f"{search.query}\x00{anchor}",
            rank=rank,
            consumed=dict(zip(search.consumed, search.credits, strict=True)).get(anchor, 0.0),
        )
        for search in searches
        if search.ranker_mode == "interleave"
        or any(chance is not None and chance < 1 for chance in search.propensities)
        for rank, anchor in enumerate(search.shown, start=1)
    ]


def loop_monitors(
    searches: Sequence[Search], priors: Iterable[AnchorPrior], facts: Mapping[str, AnchorFacts]
) -> LoopMonitors:
    """Return the loop's figures over these searches; `facts` name the indexed documents by their kind."""
    lift = {prior.anchor: prior.spec.prior for prior in priors}
    places = [(search, _places(search.base_order or search.shown)) for search in searches]
    return monitor(
        exposures=Counter(anchor for search in searches for anchor in search.shown),
        indexed=[anchor for anchor, fact in facts.items() if fact.kind],
        first_results=[(search.query, search.shown[0]) for search in searches if search.shown],
        prior_and_rank=[
            (lift.get(anchor, 0.0), base[anchor])
            for search, base in places
            for anchor in search.shown
            if anchor in base
        ],
        consumed_moves=[
            base[anchor] - rank
            for search, base in places
            for anchor, rank in zip(search.consumed, search.ranks, strict=True)
            if rank is not None and anchor in base
        ],
    )


def _places(order: Sequence[str]) -> dict[str, int]:
    return {anchor: rank for rank, anchor in enumerate(order, start=1)}


def _reciprocal(search: Search) -> float:
    ranks = [rank for rank in search.ranks if rank is not None]
    return 1.0 / min(ranks) if ranks else 0.0
