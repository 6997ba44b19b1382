"""The indexed documents, found by what a call opened: to see what was read that no search had shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from correlator.target_match import Handle, index_key, keys_of_path, match
from streams.events import DocumentIndexed
from streams.outcome import target_of
from streams.recall import TargetRef

Indexed = tuple[str, TargetRef]
"""A document's anchor, and what opens it."""


class Documents:
    """A set of indexed documents; immutable once built."""

    def __init__(self, documents: Iterable[DocumentIndexed] = ()) -> None:
        self._by_path: dict[str, list[Indexed]] = {}
        self._by_anchor: dict[str, list[Indexed]] = {}
        self._by_token = False
        for document in documents:
            ref = target_of(document.anchor, path=document.path, doc_kind=document.doc_kind)
            self._by_token = self._by_token or not document.path
            self._by_path.setdefault(index_key(ref), []).append((document.anchor, ref))
            self._by_anchor.setdefault(document.anchor.casefold(), []).append((document.anchor, ref))

    def __bool__(self) -> bool:
        return bool(self._by_anchor)

    def opened_by(self, handle: Handle) -> tuple[str, TargetRef, str] | None:
        """Return anchor, target and rule of the document that a handle opens, the closest of several, or null."""
        best: tuple[int, str, TargetRef, str] | None = None
        for anchor, ref in self._near(handle):
            verdict = match(handle, ref)
            if verdict is not None and (best is None or (-verdict.closeness, anchor) < (best[0], best[1])):
                best = (-verdict.closeness, anchor, ref, verdict.rule)
        return None if best is None else best[1:]

    def _near(self, handle: Handle) -> Iterator[Indexed]:
        if handle.path is not None:
            for key in keys_of_path(handle.path, by_token=self._by_token):
                yield from self._by_path.get(key, ())
        else:
            value = handle.value.casefold()
            for key in (value, f"{handle.kind}-{value}"):
                yield from self._by_anchor.get(key, ())


NO_DOCUMENTS = Documents()
