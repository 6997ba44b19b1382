"""What an agent had opened before, and what its prompt named: reads that happen without any search."""

from __future__ import annotations

from collections.abc import Iterable

from correlator.paths import closeness, path_key
from correlator.target_match import Handle


class Seen:
    """First call that opened each target."""

    def __init__(self, named: Iterable[str]) -> None:
        self._named = tuple(named)
        self._first: dict[str, int] = {}

    def note(self, handles: Iterable[Handle], index: int) -> None:
        """Remember that the call at this position opened these targets."""
        first = self._first
        for handle in handles:
            path = handle.path
            first.setdefault(f"{handle.kind} {handle.value}" if path is None else path.text, index)

    def before(self, handle: Handle, anchor: str, index: int) -> bool:
        """Whether a target was opened before the call at this position, or was named in the prompt."""
        return self._first.get(_key(handle), index) < index or any(
            name == anchor or _names(name, handle) for name in self._named
        )


def _key(handle: Handle) -> str:
    return f"{handle.kind} {handle.value}" if handle.path is None else handle.path.text


def _names(name: str, handle: Handle) -> bool:
    if handle.path is not None:
        return closeness(path_key(name), handle.path, handle.cwd) > 0
    return handle.value == name
