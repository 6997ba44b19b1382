"""The fold over one agent's calls, in order, that finds what was consumed of each search.

`Attribution` takes an agent's calls one after the other and keeps, for every search, what later calls opened of it.
A call looks its targets up in an index of the candidates that are still inside their window, so that the cost of a
call does not grow with the number of searches. Nothing here depends on when an event arrived.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

import msgspec

from correlator.bundles import Bundles
from correlator.call import Call, ms_between
from correlator.documents import Documents
from correlator.flags import answers, is_reaction
from correlator.methods import server_of
from correlator.seen import Seen
from correlator.target_match import Handle, Verdict, index_key, keys_of_path, match
from correlator.window import WindowPolicy
from streams.events import Surface
from streams.recall import Candidate, DocRef, Grade, RecallEvent, TargetRef


class Hit(msgspec.Struct, eq=False, gc=False):
    """One candidate that a call opened, or named in vain."""

    anchor: str
    rank: int | None
    target: TargetRef
    call: Call
    distance: int
    elapsed_ms: int
    rule: str
    grade: Grade
    handle: Handle
    already_seen: bool
    depth: Literal["read", "edit"] = "read"
    credit: float = 1.0
    dwell_ms: int | None = None


class Search(msgspec.Struct, eq=False):
    """One search and what is known of its outcome so far."""

    call: Call
    index: int
    """Position among the agent's calls."""
    surface: str
    recall_id: str
    bundle_id: str
    server: str
    candidates: Sequence[Candidate]
    hits: dict[int, Hit] = {}
    """What was opened, by candidate rank."""
    outside: dict[str, Hit] = {}
    """Indexed documents that were opened and that no search of the window had shown, by anchor."""
    clicks: list[Hit] = []
    shared: bool = False
    """Some consumption is shared with another search of the surface."""
    reformulated: bool = False
    fell_back: bool = False
    graph_after_read: bool = False
    next_search: int | None = None
    closed_after: int | None = None
    """Calls in the window, once a call behind it was seen; null while the window is open."""
    basis: int = 0
    """Distinct events that the closed window rests on."""
    skew_ms: int = 0
    """Largest backward step of event time, against the source's own order, inside the window."""
    concluded: RecallEvent | None = None
    """The event of a closed window, which no later call can change."""


_Shown = tuple[Search, Candidate]


class Attribution:
    """What one agent's calls made of its searches; calls are taken in order."""

    def __init__(self, policy: WindowPolicy, documents: Documents, named: Iterable[str]) -> None:
        self.searches: list[Search] = []
        self.events = 0
        """Distinct events folded so far."""
        self.credited: set[tuple[str, str]] = set()
        """(tool_use_id, surface) of the calls that consumed something of this agent's own searches."""
        self.seen = Seen(named)
        self._policy = policy
        self._sure_distance = policy.sure_distance
        self._documents = documents
        self.count = 0
        """Calls folded so far."""
        self._active: deque[Search] = deque()
        self._expecting: list[Search] = []
        self._awaiting_dwell: list[Hit] = []
        self._by_path: dict[str, list[_Shown]] = {}
        self._by_token = False
        self._bundles = Bundles()
        self._no_next_search: dict[str, list[Search]] = {}
        self._no_fallback: list[Search] = []
        self._no_read: list[Search] = []
        self._read_no_graph: list[Search] = []
        self._newest: Call | None = None

    def take(self, call: Call, recall_id: str | None) -> None:
        """Fold the agent's next call in; a search brings its recall id."""
        index = self.count
        self.count += 1
        self.events += call.observations
        if self._awaiting_dwell:
            for hit in self._awaiting_dwell:
                hit.dwell_ms = max(0, ms_between(hit.call.end, call.at))
            self._awaiting_dwell.clear()
        if self._active and index - self._active[0].index > self._sure_distance:
            self._close_windows(call, index)
        newest = self._newest
        if newest is not None and (call.skew_ms or call.event.turn_index < newest.event.turn_index):
            self._measure_skew(call, newest)
        else:
            self._newest = call
        opened_of = self._open(call, index) if call.handles and self._active else ()
        if self._expecting:
            self._answer(call, opened_of)
        if call.tree_search or call.surface is not None:
            self._mark_searches(call, index)
        if call.opened:
            self._bundles.close()
            self._read_no_graph += self._no_read
            self._no_read.clear()
        if call.handles and call.ok:
            self.seen.note(call.handles, index)
        if recall_id is not None and call.surface is not None:
            self._add(call, index, recall_id)

    def _close_windows(self, call: Call, index: int) -> None:
        active, policy = self._active, self._policy
        while active and not policy.holds(index - active[0].index, call.at - active[0].call.at):
            search = active.popleft()
            search.closed_after = index - search.index - 1
            search.basis = self.events

    def _measure_skew(self, call: Call, newest: Call) -> None:
        """Note where the source's order and event time disagree, and an end before its start."""
        skew = call.skew_ms
        if call.event.turn_index >= newest.event.turn_index:
            self._newest = call
        elif call.event.source.adapter == newest.event.source.adapter:
            skew = max(skew, ms_between(newest.at, call.at))
        for search in self._active:
            search.skew_ms = max(search.skew_ms, skew)

    def _add(self, call: Call, index: int, recall_id: str) -> None:
        surface = call.surface or ""
        bundle = self._bundles.join(call, surface, recall_id)
        shown = call.event.recall.candidates if call.event.recall else ()
        search = Search(call, index, surface, recall_id, bundle, server_of(call.event), shown, skew_ms=call.skew_ms)
        self.searches.append(search)
        self._active.append(search)
        self._expecting.append(search)
        self._no_next_search.setdefault(surface, []).append(search)
        self._no_read.append(search)
        if surface == Surface.MEMORY:
            self._no_fallback.append(search)
        by_path = self._by_path
        for candidate in shown:
            target = candidate.target
            if key := index_key(target):
                if not self._by_token and type(target) is DocRef and not target.path:
                    self._by_token = True
                entry = (search, candidate)
                if (entries := by_path.get(key)) is None:
                    by_path[key] = [entry]
                else:
                    entries.append(entry)

    def _answer(self, call: Call, opened_of: Collection[Search]) -> None:
        """Tell the searches that wait for the agent's first reaction whether this is the same question anew."""
        waiting: list[Search] = []
        for search in self._expecting:
            if not is_reaction(call, search.call):
                waiting.append(search)
            elif search.closed_after is None:
                search.reformulated = answers(call, search.call, search.surface) and search not in opened_of
        self._expecting = waiting

    def _mark_searches(self, call: Call, index: int) -> None:
        """Tell the searches in their window that another search came; each is told once, so this stays linear."""
        left: list[Search] = []
        for search in self._no_next_search.get(call.surface or "", ()):
            if search.closed_after is None and not answers(call, search.call, search.surface):
                left.append(search)
            elif search.closed_after is None:
                search.next_search = index - search.index
        self._no_next_search[call.surface or ""] = left
        if call.tree_search:
            for search in self._no_fallback:
                search.fell_back = search.closed_after is None
            self._no_fallback.clear()
        if call.event.tool == "graph_resolve":
            for search in self._read_no_graph:
                search.graph_after_read = search.closed_after is None
            self._read_no_graph.clear()

    def _open(self, call: Call, index: int) -> set[Search]:
        """Credit what the call opened and return the searches that had shown it."""
        touched: set[Search] = set()
        for handle in call.handles:
            shown = self._shown_near(handle)
            if not shown and not self._documents:
                continue
            best = self._closest(shown, handle, call)
            fresh: dict[str, list[tuple[Search, Hit]]] = {}
            for search, (candidate, verdict) in best.items():
                touched.add(search)
                hit = self._record(search, candidate, verdict, handle, call, index)
                if hit is not None:
                    fresh.setdefault(search.surface, []).append((search, hit))
            for surface, together in fresh.items():
                self._share(together)
                self.credited.add((call.event.tool_use_id, surface))
            if self._documents and call.ok and not any(search.surface == Surface.MEMORY for search in best):
                self._open_outside(handle, call, index)
        return touched

    @staticmethod
    def _closest(shown: Iterable[_Shown], handle: Handle, call: Call) -> dict[Search, tuple[Candidate, Verdict]]:
        """Of what each search had shown the closest candidate that the handle opens."""
        best: dict[Search, tuple[Candidate, Verdict]] = {}
        for search, candidate in shown:
            if not is_reaction(call, search.call) or (handle.kind == "id" and handle.parent != search.server):
                continue
            verdict = match(handle, candidate.target)
            if verdict is None:
                continue
            known = best.get(search)
            if known is None or (-verdict.closeness, candidate.rank) < (-known[1].closeness, known[0].rank):
                best[search] = (candidate, verdict)
        return best

    def _shown_near(self, handle: Handle) -> Sequence[_Shown]:
        """What was shown inside a window and may be what the handle opens."""
        path = handle.path
        if path is None:
            return [(search, candidate) for search in self._active for candidate in search.candidates]
        if not self._by_token:
            return self._shown_as(path.name)
        return [shown for key in keys_of_path(path, by_token=True) for shown in self._shown_as(key)]

    def _shown_as(self, key: str) -> Sequence[_Shown]:
        """What was shown inside a window under one key of the index; what has left its window leaves the index."""
        entries = self._by_path.get(key)
        if entries is None:
            return ()
        if entries[0][0].closed_after is not None:
            entries = [entry for entry in entries if entry[0].closed_after is None]
            if entries:
                self._by_path[key] = entries
            else:
                del self._by_path[key]
        return entries

    def _record(
        self, search: Search, candidate: Candidate, verdict: Verdict, handle: Handle, call: Call, index: int
    ) -> Hit | None:
        """Note that a candidate was opened and return the hit when it counts as a new consumption."""
        known = search.hits.get(candidate.rank)
        if known is not None and call.ok:
            if handle.edit:
                known.depth = "edit"
            if call.grade is Grade.A and call.event.context_epoch == search.call.event.context_epoch:
                known.grade = Grade.A  # read first and named by the runtime afterwards: the stronger evidence stays
            return None
        hit = self._hit(search, candidate.anchor, candidate.rank, candidate.target, verdict.rule, handle, call, index)
        if not call.ok:
            search.clicks.append(hit)
            return None
        search.hits[candidate.rank] = hit
        self._awaiting_dwell.append(hit)
        return hit

    def _hit(
        self,
        search: Search,
        anchor: str,
        rank: int | None,
        target: TargetRef,
        rule: str,
        handle: Handle,
        call: Call,
        index: int,
    ) -> Hit:
        across = call.event.context_epoch != search.call.event.context_epoch
        return Hit(
            anchor=anchor,
            rank=rank,
            target=target,
            call=call,
            distance=index - search.index,
            elapsed_ms=max(0, ms_between(search.call.at, call.at)),
            rule=rule,
            grade=Grade.E if across else call.grade,
            handle=handle,
            already_seen=self.seen.before(handle, anchor, search.index),
            depth="edit" if handle.edit else "read",
        )

    @staticmethod
    def _share(together: list[tuple[Search, Hit]]) -> None:
        if len(together) > 1:
            for search, hit in together:
                hit.credit = 1 / len(together)
                search.shared = True

    def _open_outside(self, handle: Handle, call: Call, index: int) -> None:
        """Note a document that was opened and not shown, with the agent's last memory search in its window."""
        shown_to = (
            search
            for search in reversed(self._active)
            if search.surface == Surface.MEMORY and is_reaction(call, search.call)
        )
        search = next(shown_to, None)
        found = self._documents.opened_by(handle) if search is not None else None
        if search is None or found is None or found[0] in search.outside:
            return
        anchor, target, rule = found
        hit = self._hit(search, anchor, None, target, rule, handle, call, index)
        search.outside[anchor] = hit
        self._awaiting_dwell.append(hit)
