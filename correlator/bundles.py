"""Bundles: the searches of one surface that an agent made before it opened anything."""

from __future__ import annotations

from correlator.call import Call


class Bundles:
    """The open bundle of each surface, in the order of an agent's calls."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}

    def close(self) -> None:
        """Something was opened: the next search begins a bundle of its own."""
        self._open.clear()

    def join(self, call: Call, surface: str, recall_id: str) -> str:
        """Return the bundle of a search, named by its first search.

        A `graph_resolve` is a search and a drill-down: it ends the open bundle and stands alone.
        """
        if call.event.tool == "graph_resolve":
            self._open.pop(surface, None)
            return recall_id
        return self._open.setdefault(surface, recall_id)
