"""What a request leaves out, as an SQL condition over `docs d`: it stands inside every query, before any cut."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from memory.anchors import anchor_key
from memory.model import Scope, SearchRequest

CONVERSATIONS = ("thread", "session")
ON_REQUEST = ("pack-knowledge",)
"""Kinds that are found only when asked for by name."""

SCOPE_KINDS: dict[Scope, tuple[str, ...]] = {
    "threads": ("thread",),
    "sessions": ("session",),
    "trajectories": ("trajectory",),
}
"""Scopes that hold these kinds alone."""

NOT_DOCUMENTS = (*CONVERSATIONS, "trajectory")


@dataclass(frozen=True, slots=True)
class Condition:
    """An SQL condition with its values; never holds a word of the user in its text."""

    sql: str
    values: tuple[str | int, ...] = ()
    is_narrow: bool = False
    """It leaves out much of the index."""


class InvalidDateError(ValueError):
    """A date filter that is neither an ISO date nor an ISO instant."""


def condition(request: SearchRequest) -> Condition:
    """Return what a document must satisfy to be an answer.

    Raises:
        InvalidDateError: for a date that cannot be read.
    """
    clauses: list[Condition] = []
    if request.kinds:
        clauses.append(_one_of("d.kind", request.kinds))
    else:
        clauses.append(_none_of("d.kind", ON_REQUEST))
    if request.scope in SCOPE_KINDS:
        clauses.append(_one_of("d.kind", SCOPE_KINDS[request.scope]))
    elif request.scope in ("docs", "memory"):
        clauses.append(_none_of("d.kind", NOT_DOCUMENTS))
    if request.statuses:
        clauses.append(_one_of("d.status", request.statuses))
    if request.keywords:
        wanted = _one_of("keyword", tuple(word.strip().casefold() for word in request.keywords))
        clauses.append(Condition(f"d.id IN (SELECT doc_id FROM doc_keywords WHERE {wanted.sql})", wanted.values))
    if request.thread_id is not None:
        key = anchor_key(f"thread-{request.thread_id}")
        clauses.append(Condition("d.id IN (SELECT doc_id FROM aliases WHERE key = ?)", (key,)))
    if request.date_from is not None:
        clauses.append(Condition("d.updated_ms >= ?", (_start(request.date_from),)))
    if request.date_to is not None:
        clauses.append(Condition("d.updated_ms < ?", (_end(request.date_to),)))
    return Condition(
        " AND ".join(clause.sql for clause in clauses),
        tuple(value for clause in clauses for value in clause.values),
        is_narrow=is_narrow(request),
    )


def is_narrow(request: SearchRequest) -> bool:
    """Tell whether the request leaves out much of the index, so that the best matches are likely to fail it."""
    stated = (request.kinds, request.statuses, request.keywords, request.thread_id, request.date_from, request.date_to)
    return any(stated) or request.scope not in ("all", "docs", "memory")


def _one_of(column: str, values: tuple[str, ...]) -> Condition:
    return Condition(f"{column} IN ({', '.join('?' * len(values))})", values)


def _none_of(column: str, values: tuple[str, ...]) -> Condition:
    return Condition(f"{column} NOT IN ({', '.join('?' * len(values))})", values)


def _start(stated: str | datetime) -> int:
    day, instant = parse_date(stated)
    return epoch_ms(instant if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC))


def _end(stated: str | datetime) -> int:
    """Return the first millisecond that is too late: a day counts whole, an instant is inside."""
    day, instant = parse_date(stated)
    if day is None:
        return epoch_ms(instant) + 1
    return epoch_ms(datetime(day.year, day.month, day.day, tzinfo=UTC)) + int(
        timedelta(days=1) / timedelta(milliseconds=1)
    )


def parse_date(stated: str | datetime) -> tuple[date | None, datetime]:
    """Return (day, its start) for a date, (None, instant) for an instant; without an offset it is UTC.

    Raises:
        InvalidDateError: when the text is neither.
    """
    if isinstance(stated, datetime):
        return None, stated if stated.tzinfo is not None else stated.replace(tzinfo=UTC)
    text = stated.strip()
    try:
        if len(text) == len("2031-04-01"):
            day = date.fromisoformat(text)
            return day, datetime(day.year, day.month, day.day, tzinfo=UTC)
        instant = datetime.fromisoformat(text)
        return None, (instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidDateError(f"expected an ISO date such as 2031-04-01 or an ISO instant, got {stated!r}") from None


def epoch_ms(instant: datetime) -> int:
    """Return an instant as epoch milliseconds."""
    return (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def from_epoch_ms(value: int | None) -> datetime | None:
    """Return epoch milliseconds as an instant; null stays null."""
    return None if value is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=value)
