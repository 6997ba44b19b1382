"""Priors from the log into the search store: the newest of each anchor, once, in the order of their instants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from memory.state.store import Withdrawn
from streams.log import Consumer, Partition, Record
from streams.recall import AnchorPrior

_decoder = msgspec.json.Decoder(AnchorPrior)


class PriorStore(Protocol):
    """Where priors are applied."""

    def put_priors(self, updates: Iterable[AnchorPrior | Withdrawn]) -> int:
        """Write priors in one transaction, never over a newer one."""
        ...


def updates(records: Sequence[Record]) -> tuple[list[AnchorPrior | Withdrawn], list[Record]]:
    """Return the newest update of each anchor, and the records that are none of ours.

    A tombstone carries no instant: it withdraws what came before it on the log, and what comes after it stands.
    """
    newest: dict[str, AnchorPrior | Withdrawn] = {}
    bad: list[Record] = []
    for record in records:
        update = _update(record)
        if update is None:
            bad.append(record)
        elif not _is_older(update, newest.get(update.anchor)):
            newest[update.anchor] = update
    return list(newest.values()), bad


def _is_older(update: AnchorPrior | Withdrawn, held: AnchorPrior | Withdrawn | None) -> bool:
    return isinstance(update, AnchorPrior) and isinstance(held, AnchorPrior) and update.as_of < held.as_of


def _update(record: Record) -> AnchorPrior | Withdrawn | None:
    try:
        if record.value is None:
            return Withdrawn(record.key.decode()) if record.key else None
        return _decoder.decode(record.value)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def apply(store: PriorStore, priors: Iterable[AnchorPrior | Withdrawn]) -> int:
    """Write priors in one transaction and return how many replaced an older or missing one."""
    return store.put_priors(priors)


async def step(store: PriorStore, consumer: Consumer, *, timeout_s: float = 1.0) -> tuple[int, list[Record]]:
    """Apply the next records of the topic, then commit; return (priors written, unreadable records).

    Applying again after a crash between the two changes nothing.
    """
    records = await consumer.poll(timeout_s=timeout_s)
    fresh, bad = updates(records)
    written = apply(store, fresh)
    ends: dict[Partition, int] = {}
    for record in records:
        where = Partition(record.topic, record.partition)
        ends[where] = max(ends.get(where, 0), record.offset + 1)
    if ends:
        await consumer.commit(ends)
    return written, bad
