"""Priors onto the compacted topic: one message an anchor, a tombstone for each that is withdrawn."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from streams.log import Emitter
from streams.recall import AnchorPrior
from streams.topics import ANCHOR_PRIORS

BATCH = 1000
"""Messages that wait for the broker together."""


class PublishedAnchors:
    """Which anchors stand on the topic, kept in one file, so that a later run can withdraw those it no longer has."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> set[str]:
        """Return the anchors of the last publication; none before the first."""
        try:
            return set(json.loads(self._path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return set()

    def write(self, anchors: Iterable[str]) -> None:
        """Remember these anchors as the ones that may stand on the topic."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._path.with_suffix(".tmp")
        unfinished.write_text(json.dumps(sorted(anchors)), encoding="utf-8")
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


async def publish_run(emitter: Emitter, priors: Sequence[AnchorPrior], published: PublishedAnchors) -> int:
    """Publish a run and withdraw what the last one had and this one has not; return the number of messages.

    The anchors are noted before the first message goes out, so that a publication that breaks off withdraws none
    too few the next time.

    Raises:
        BrokerUnavailable: when some message was not acknowledged; publishing all again is safe.
    """
    before, now = published.read(), {prior.anchor for prior in priors}
    published.write(before | now)
    sent = await publish_priors(emitter, priors, withdrawn=before - now)
    published.write(now)
    return sent
