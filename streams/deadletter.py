"""Dead letters: what could not be used, with its bytes, its place and the reason, so that nothing is lost silently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import msgspec

from streams import codec
from streams.codec import BadLine, decode_line
from streams.errors import DlqLimitExceeded
from streams.log import Record
from streams.topics import TOPICS

Stage = Literal["source", "decode", "schema", "correlate", "land", "apply"]
"""Where it failed: translation at the producer, bytes, shape, or the work of a reader."""


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One message, or one line of a message, that nobody could use (travels on `<topic>.dead`)."""

    stage: Stage
    reason: str
    """What was expected and what came."""
    topic: str
    """Where it stood or, for a source, where it would have gone."""
    partition: int | None = None
    offset: int | None = None
    """Null where it never was on the log."""
    line: int | None = None
    """0-based line in the message, or 1-based line of the source file."""
    raw: bytes
    """The original bytes (base64 on the wire)."""
    adapter: str = ""
    uri: str = ""
    """Source file or endpoint."""
    schema_version: int | None = None
    at: datetime | None = None
    """Append time of the original record; null where it never was on the log."""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(DeadLetter)


def of_line(record: Record, bad: BadLine) -> DeadLetter:
    """Return the dead letter of one bad line of a record."""
    origin = _origin(bad.raw)
    return DeadLetter(
        stage=bad.stage,
        reason=bad.reason,
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        line=bad.index,
        raw=bad.raw,
        at=record.timestamp,
        schema_version=origin.schema_version,
        adapter=str(origin.source.get("adapter", "")),
        uri=str(origin.source.get("uri", "")),
    )


def of_record(record: Record, stage: Stage, reason: str) -> DeadLetter:
    """Return the dead letter of a whole record."""
    return DeadLetter(
        stage=stage,
        reason=reason,
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        raw=record.value or b"",
        at=record.timestamp,
    )


def encode(letter: DeadLetter) -> bytes:
    """Return the message value of a dead letter."""
    return _encoder.encode(letter)


def decode(value: bytes) -> DeadLetter:
    """Return the dead letter of a message value.

    Raises:
        msgspec.DecodeError: when it is none.
    """
    return _decoder.decode(value)


class _Origin(msgspec.Struct, gc=False):
    """The parts of a broken event that may still be read."""

    schema_version: int | None = None
    source: Mapping[str, object] = {}


def _origin(raw: bytes) -> _Origin:
    try:
        return msgspec.json.decode(raw, type=_Origin, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Origin()


@dataclass(frozen=True, slots=True, kw_only=True)
class DlqLimit:
    """How many dead letters are still taken for single bad events and not for a wrong input."""

    max_ratio: float = 0.01
    """Of the events seen, in (0, 1]."""
    max_in_a_row: int = 1000
    min_events: int = 1000
    """The ratio is not judged before so many events."""


@dataclass(frozen=True, slots=True)
class DlqBudget:
    """What a reader has seen so far, against its limit."""

    limit: DlqLimit = DlqLimit()
    good: int = 0
    dead: int = 0
    in_a_row: int = 0

    def after(self, *, good: int, dead: int) -> DlqBudget:
        """Return the budget after a message with so many usable events and dead letters.

        Raises:
            DlqLimitExceeded: when the limit is passed: the input itself must be wrong.
        """
        budget = DlqBudget(self.limit, self.good + good, self.dead + dead, dead if good else self.in_a_row + dead)
        seen = budget.good + budget.dead
        if budget.in_a_row >= self.limit.max_in_a_row:
            raise DlqLimitExceeded(
                f"expected fewer than {self.limit.max_in_a_row} dead letters in a row, got {budget.in_a_row}"
            )
        if seen >= self.limit.min_events and budget.dead > self.limit.max_ratio * seen:
            raise DlqLimitExceeded(
                f"expected at most {self.limit.max_ratio:.1%} of the events to be unusable, got {budget.dead} of {seen}"
            )
        return budget


@dataclass(frozen=True, slots=True)
class Replay:
    """What a dead letter becomes when it is tried again."""

    topic: str
    key: str
    value: bytes
    event_id: str
    """The original one: whoever has seen the event already counts it once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayPolicy:
    """Which dead letters may be tried again: those of a reader whose code has learnt to read them since."""

    stages: frozenset[Stage] = frozenset(("source", "decode", "schema"))

    def replay(self, letter: DeadLetter) -> Replay | str:
        """Return what to append where, or the reason why trying again cannot help."""
        if letter.stage not in self.stages:
            return f"stage {letter.stage} is no fault of the bytes"
        topic = next((topic for topic in TOPICS if topic.name == letter.topic), None)
        if topic is None:
            return f"topic {letter.topic} is none of ours"
        event = decode_line(letter.raw)
        if isinstance(event, BadLine):
            return f"still unreadable: {event.reason}"
        key = getattr(event, topic.key, "")
        if not key:
            return f"{type(event).__name__} has no {topic.key}, the key of {topic.name}"
        return Replay(topic.name, key, codec.encode([event]), event.event_id)
