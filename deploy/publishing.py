"""What the composition root itself puts on the log: which documents a search store holds."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from streams.events import DocumentIndexed
from streams.log import Emitter
from streams.topics import DOCUMENTS


async def publish_documents(emitter: Emitter, documents: Iterable[DocumentIndexed]) -> None:
    """Append what is indexed, one message an anchor; the newest of an anchor counts.

    Raises:
        BrokerUnavailable: when some message was not acknowledged; publishing all again is harmless.
    """
    encode = msgspec.json.Encoder().encode
    await emitter.emit_all(DOCUMENTS.name, [(document.anchor, encode(document)) for document in documents])
