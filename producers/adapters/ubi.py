"""User Behavior Insights records to events: a person's searches and clicks beside those of agents.

A query becomes a search that showed its hits, a click or view of an object an opening of it. What a query showed is its
own list of hits, else the impressions that name it. Source: UBI 1.3.0, query and event schemas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from producers import identity
from producers.lines import Line, Problem
from producers.observed import Observed
from producers.records import mapping, records, sequence, text, whole
from producers.times import from_millis, instant
from producers.translation import Adapter, SourceFile, Translation
from producers.turns import Home, Tally, TurnBook, turn_events
from streams.codec import LogEvent
from streams.events import Touch
from streams.foreign import MAX_CANDIDATES
from streams.outcome import settle, target_of
from streams.recall import Candidate, RecallOutcome, ResultStatus

NAME = "ubi"
RUNTIME = "ubi"

_RECORD = re.compile(rb'"(?:user_query|action_name)"\s*:')
_OPENS = frozenset({"click", "view", "add_to_cart", "purchase", "watch", "download"})


def recognises(name: str, head: bytes) -> bool:
    """Tell whether a file holds UBI queries or events, by its first bytes."""
    return _RECORD.search(head) is not None and b'"query_id"' in head


def lineage(name: str, head: bytes) -> str:
    """Return one key for all: queries and events stand in files of their own, joined by `query_id`."""
    return NAME


def translate(files: Sequence[SourceFile]) -> Translation:
    """Return the events of these files, by session in order of time."""
    problems: list[Problem] = []
    tallies = {file.uri: Tally() for file in files}
    found: list[tuple[dict[str, Any], str, int]] = []
    for file in files:
        for item in records(file):
            if isinstance(item, Problem):
                problems.append(item)
                continue
            tallies[file.uri].records += 1
            found.append((_inner(item), file.uri, item.number))
    known = _Sessions(found)
    books: dict[str, TurnBook] = {}
    for value, uri, number in sorted(found, key=lambda one: (str(one[0].get("timestamp")), one[1], one[2])):
        seen = _asked(value, known, number) or _opened(value, number)
        if seen is None:
            tallies[uri].skipped[f"record: {text(value.get('action_name'))[:60] or 'without a time'}"] += 1
            continue
        session = known.of(value)
        book = books.setdefault(session, TurnBook(uri, RUNTIME, agent=f"{RUNTIME}/{session}"))
        book.uri, book.tally = uri, tallies[uri]
        if not book.turns:
            book.begin(session, at=seen.at, line=number)
        book.call(seen)
        book.finish(seen, "", seen.at)
    events = tuple(event for session, book in books.items() for event in _events(session, book))
    counts = {uri: tally.counts() for uri, tally in tallies.items()}
    return Translation(events=events, problems=tuple(problems), files=counts)


def _events(session: str, book: TurnBook) -> Iterator[LogEvent]:
    for turn in book.turns:
        yield from turn_events(turn, Home(adapter=NAME, runtime=RUNTIME, session_id=session))


def _inner(item: Line) -> dict[str, Any]:
    """The record itself; OpenSearch wraps a stored one in `_source`, a request's in `ext.ubi`."""
    value = mapping(item.value.get("_source")) or item.value
    return mapping(mapping(value.get("ext")).get("ubi")) or value


class _Sessions:
    """What only the records together tell: whose a query is, and what was seen of it."""

    def __init__(self, found: Sequence[tuple[dict[str, Any], str, int]]) -> None:
        self._session: dict[str, str] = {}
        self.impressions: dict[str, dict[int, str]] = {}
        for value, _, _ in found:
            query, session = text(value.get("query_id")), text(value.get("session_id"))
            if query and session:
                self._session.setdefault(query, session)
            ordinal = whole(mapping(_attributes(value).get("position")).get("ordinal"))
            if value.get("action_name") == "impression" and ordinal is not None and _object_id(value):
                self.impressions.setdefault(query, {}).setdefault(ordinal, _object_id(value))

    def of(self, value: dict[str, Any]) -> str:
        """Return the session of a record, as near as it can be known."""
        own = text(value.get("session_id")) or self._session.get(text(value.get("query_id")), "")
        return own or text(value.get("client_id")) or text(value.get("application")) or NAME


def _asked(value: dict[str, Any], known: _Sessions, number: int) -> Observed | None:
    """A query, or null for any other record."""
    at = instant(value.get("timestamp")) or from_millis(value.get("timestamp"))
    if at is None or "action_name" in value or "user_query" not in value:
        return None
    query_id, query = text(value.get("query_id")), text(value.get("user_query"))
    ids = [str(hit) for hit in sequence(value.get("query_response_hit_ids")) if isinstance(hit, str | int)]
    seen_ids = known.impressions.get(query_id, {})
    shown = ids or [seen_ids[ordinal] for ordinal in sorted(seen_ids)]
    told = "query_response_hit_ids" in value or bool(shown)
    return Observed(
        call_id=query_id or identity.event_id("query", query, at.isoformat()),
        name=f"mcp__{_application(value)}__search",
        input={"query": query},
        at=at,
        line=number,
        recall=_shown(query, shown, told=told),
    )


def _shown(query: str, ids: Sequence[str], *, told: bool) -> RecallOutcome:
    """What a search showed; nobody knows where neither hits nor impressions were kept."""
    if not told:
        return RecallOutcome(result_status=ResultStatus.RESULT_UNMERGED, query=query)
    status, count = settle(len(ids))
    candidates = tuple(
        Candidate(anchor=anchor, rank=rank, target=target_of(anchor))
        for rank, anchor in enumerate(ids[:MAX_CANDIDATES], start=1)
    )
    return RecallOutcome(result_status=status, result_count=count, query=query, candidates=candidates)


def _opened(value: dict[str, Any], number: int) -> Observed | None:
    """An object that was opened, or null for any other record."""
    at = instant(value.get("timestamp")) or from_millis(value.get("timestamp"))
    action, object_id = text(value.get("action_name")), _object_id(value)
    if at is None or action not in _OPENS or not object_id:
        return None
    own = identity.event_id("ubi", text(value.get("query_id")), action, object_id, at.isoformat())
    return Observed(
        call_id=own,
        name=f"mcp__{_application(value)}__{action}",
        input={"id": object_id},
        at=at,
        line=number,
        touched=(Touch(op="fetch", path=object_id),),
    )


def _application(value: dict[str, Any]) -> str:
    return re.sub(r"\W+|__+", "-", text(value.get("application"))) or NAME


def _attributes(value: dict[str, Any]) -> dict[str, Any]:
    return mapping(value.get("event_attributes"))


def _object_id(value: dict[str, Any]) -> str:
    found = mapping(_attributes(value).get("object")).get("object_id")
    return str(found) if isinstance(found, str | int) and not isinstance(found, bool) else ""


ADAPTER = Adapter(name=NAME, runtime=RUNTIME, recognises=recognises, lineage=lineage, translate=translate)
