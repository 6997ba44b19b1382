"""The indexed documents, found by what a call opened: to see what was read that no search had shown."""

from __future__ import annotations

from collections.abc import Iterable

from correlator.target_match import Handle, keys_of_handle, keys_of_ref, match
from streams.events import DocumentIndexed
from streams.outcome import target_of
from streams.recall import TargetRef

Indexed = tuple[str, TargetRef]
"""A document's anchor, and what opens it."""


class Documents:
    """A set of indexed documents; immutable once built."""

    def __init__(self, documents: Iterable[DocumentIndexed] = ()) -> None:
        self._index: dict[str, list[Indexed]] = {}
        self._by_token = False
        for document in documents:
            ref = target_of(document.anchor, path=document.path, doc_kind=document.doc_kind)
            self._by_token = self._by_token or not document.path
            for key in keys_of_ref(ref):
                self._index.setdefault(key, []).append((document.anchor, ref))

    def __bool__(self) -> bool:
        return bool(self._index)

    def opened_by(self, handle: Handle) -> tuple[str, TargetRef, str] | None:
        """Return anchor, target and rule of the document that a handle opens, the closest of several, or null."""
        best: tuple[int, str, TargetRef, str] | None = None
        for key in keys_of_handle(handle, by_token=self._by_token):
            for anchor, ref in self._index.get(key, ()):
                verdict = match(handle, ref)
                if verdict is not None and (best is None or (-verdict.closeness, anchor) < (best[0], best[1])):
                    best = (-verdict.closeness, anchor, ref, verdict.rule)
        return None if best is None else best[1:]


NO_DOCUMENTS = Documents()
