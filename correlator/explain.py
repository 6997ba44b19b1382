"""Why a search counts as consumed or not, call by call, in words: the audit of the correlator.

It asks the same fold as the stream and only tells what that decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from correlator.attribution import Attribution, Hit, Search
from correlator.call import Call, ms_between
from correlator.decide import END_OF_TIME, decide
from correlator.documents import NO_DOCUMENTS, Documents
from correlator.flags import answers, is_reaction
from correlator.invocation import Invocation, Lane, evolve
from correlator.methods import command_of
from correlator.window import DEFAULT_POLICY, CorrelatorPolicy
from streams.events import ToolEvent
from streams.recall import RecallEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One later call of the same agent, and what it was to the search."""

    tool_use_id: str
    tool: str
    target: str
    distance: int
    elapsed_ms: int
    inside: bool
    """Inside the window."""
    verdict: str
    """`consumed`, `clicked`, `again`, `outside the pool`, `reformulated`, `fallback`, `too early`, `too late`, `-`."""
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A search with its verdicts."""

    recall: RecallEvent
    calls: tuple[Judged, ...]


def explain(
    recall_id: str,
    events: Iterable[ToolEvent],
    *,
    policy: CorrelatorPolicy = DEFAULT_POLICY,
    documents: Documents = NO_DOCUMENTS,
) -> Explanation | None:
    """Return how each later call of the same agent was judged; null when the events hold no such search.

    Args:
        recall_id: The search.
        events: All events of its invocation.
        policy: Under which it is judged.
        documents: Indexed documents.
    """
    state: Invocation | None = None
    for event in events:
        state = evolve(state, event)
    if state is None:
        return None
    recalls = {
        recall.recall_id: recall for recall in decide(state, END_OF_TIME, policy=policy, documents=documents).recalls
    }
    book = state.book
    book.set(policy, documents)
    for lane in book.lanes.values():
        fold = lane.attributed(policy, documents, book.named_targets)
        for search in fold.searches:
            if search.recall_id == recall_id:
                calls = tuple(_judged(search, lane, fold, policy))
                return Explanation(recall=recalls[recall_id], calls=calls)
    return None


def _judged(search: Search, lane: Lane, fold: Attribution, policy: CorrelatorPolicy) -> Iterator[Judged]:
    hits = {hit.call: hit for hit in (*search.hits.values(), *search.outside.values())}
    clicks = {hit.call: hit for hit in search.clicks}
    for distance, call in enumerate(lane.calls[search.index + 1 :], start=1):
        inside = policy.window.holds(distance, call.at - search.call.at)
        verdict, why = _verdict(search, call, hits.get(call), clicks.get(call), inside=inside, first=distance == 1)
        yield Judged(
            tool_use_id=call.event.tool_use_id,
            tool=call.event.tool,
            target=_target(call),
            distance=distance,
            elapsed_ms=max(0, ms_between(search.call.at, call.at)),
            inside=inside,
            verdict=verdict,
            why=why,
        )


def _verdict(
    search: Search, call: Call, hit: Hit | None, click: Hit | None, *, inside: bool, first: bool
) -> tuple[str, str]:
    if hit is not None and hit.rank is None:
        return "outside the pool", f"{hit.anchor} is indexed, and no search of the window had shown it"
    if hit is not None:
        return "consumed", _why(hit)
    if click is not None:
        return "clicked", f"it named {click.anchor} (rank {click.rank}) and ended in {call.event.status}"
    if not inside:
        return "too late", "both bounds of the window have passed"
    if not is_reaction(call, search.call):
        return "too early", "it began before the search had answered"
    if answers(call, search.call, search.surface):
        return ("reformulated", "the next thing was to search again") if first else ("-", "a further search")
    if call.tree_search and search.fell_back:
        return "fallback", "a search of the whole tree instead of what was shown"
    if not call.handles:
        return "-", "it opens nothing"
    if not call.ok:
        return "-", f"it ended in {call.event.status}"
    if any(
        hit.handle.path == handle.path and hit.handle.value == handle.value
        for hit in search.hits.values()
        for handle in call.handles
    ):
        return "again", "it opens what was consumed before"
    return "-", "what it opens was not shown"


def _why(hit: Hit) -> str:
    parts = [f"{hit.anchor} (rank {hit.rank}) by its {hit.rule}, grade {hit.grade}"]
    if hit.credit < 1:
        parts.append(f"shared with other searches, credit {hit.credit:.2f}")
    if hit.already_seen:
        parts.append("opened before the search or named in the prompt")
    if hit.depth == "edit":
        parts.append("changed as well")
    return "; ".join(parts)


def _target(call: Call) -> str:
    if call.handles:
        return ", ".join(handle.path.text if handle.path is not None else handle.value for handle in call.handles[:3])
    return command_of(call.event.input)[:80]


def as_text(explanation: Explanation) -> str:
    """Return an explanation for the terminal."""
    recall = explanation.recall
    lines = [
        f"{recall.tool} by {recall.agent_id} at {recall.occurred_at:%Y-%m-%d %H:%M:%S} UTC: {recall.query!r}",
        f"answer: {recall.result_status}"
        + (f", {recall.result_count} results" if recall.result_count is not None else "")
        + f", {len(recall.candidates)} shown; window {recall.window_policy}, closed by {recall.closed_by or '-'}",
        "",
        *(
            f"  {each.rank:>3}. {each.anchor}  {getattr(each.target, 'path', '') or each.title}"
            for each in recall.candidates
        ),
        "",
    ]
    for call in explanation.calls:
        place = f"+{call.distance:<3} {call.elapsed_ms / 1000:>8.1f} s"
        lines.append(f"{place}  {call.verdict:<16} {call.tool} {call.target}: {call.why}")
    lines += ["", f"verdict: {_summary(recall)}"]
    return "\n".join(lines)


def _summary(recall: RecallEvent) -> str:
    pool = [each for each in recall.consumed if each.rank is not None]
    flags = {
        "reformulated": recall.reformulated,
        "abandoned": recall.abandoned,
        "empty": recall.zero_hit,
        "fell back to grep": recall.fell_back_to_grep,
    }
    words = [f"{len(pool)} consumed" + (f" ({recall.clarity})" if recall.clarity else "")]
    return ", ".join([*words, *(name for name, holds in flags.items() if holds)])
