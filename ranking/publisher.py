"""Priors onto the compacted topic: one message an anchor, a tombstone for each that is withdrawn."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from streams.log import Emitter
from streams.recall import AnchorPrior
from streams.topics import ANCHOR_PRIORS

BATCH = 1000
"""Messages that wait for the broker together."""


class Published(msgspec.Struct, frozen=True):
    """What stands on the topic."""

    as_of: datetime | None = None
    """Of the newest run; None before the first."""
    anchors: frozenset[str] = frozenset()


class PublishedAnchors:
    """Which anchors stand on the topic, kept in one file, so that a later run can withdraw those it no longer has."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Published:
        """Return what the last publication left; nothing before the first."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Published)
        except FileNotFoundError:
            return Published()

    def write(self, as_of: datetime | None, anchors: Iterable[str]) -> None:
        """Remember these anchors as the ones that may stand on the topic."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._path.with_suffix(".tmp")
        unfinished.write_bytes(msgspec.json.encode({"as_of": as_of, "anchors": sorted(anchors)}))
        os.replace(unfinished, self._path)


async def publish_priors(emitter: Emitter, priors: Sequence[AnchorPrior], *, withdrawn: Iterable[str] = ()) -> int:
    """Append every prior, then a tombstone for each withdrawn anchor; return how many messages that were.

    A second publication of the same run appends the same bytes: an applier keeps the newest `as_of` of an anchor.

    Raises:
        BrokerUnavailable: when some message was not acknowledged; publishing all again is safe.
    """
    encode = msgspec.json.Encoder().encode
    messages: list[tuple[str, bytes | None]] = [(prior.anchor, encode(prior)) for prior in priors]
    kept = {prior.anchor for prior in priors}
    messages += [(anchor, None) for anchor in sorted(set(withdrawn) - kept)]
    for start in range(0, len(messages), BATCH):
        await emitter.emit_all(ANCHOR_PRIORS.name, messages[start : start + BATCH])
    return len(messages)


async def publish_run(
    emitter: Emitter, priors: Sequence[AnchorPrior], published: PublishedAnchors, *, as_of: datetime
) -> int:
    """Publish a run and withdraw what the last one had and this one has not; return the number of messages.

    A run that is older than the newest one publishes nothing: compaction keeps the last message of an anchor, and a
    store that is filled later would believe it. The anchors are noted before the first message goes out, so that a
    publication that breaks off withdraws none too few the next time.

    Raises:
        BrokerUnavailable: when some message was not acknowledged; publishing all again is safe.
    """
    before, now = published.read(), frozenset(prior.anchor for prior in priors)
    if before.as_of is not None and as_of < before.as_of:
        return 0
    published.write(before.as_of, before.anchors | now)
    sent = await publish_priors(emitter, priors, withdrawn=before.anchors - now)
    published.write(as_of, now)
    return sent
