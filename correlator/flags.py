"""What one call says of an earlier search: was it a reaction to it, was it the same question asked anew?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from correlator.call import Call

_PAGING = frozenset({"offset", "page", "cursor", "skip", "start", "coverage_offset", "head_limit", "limit"})
"""Inputs that move through one answer."""


def is_reaction(call: Call, search: Call) -> bool:
    """Whether a later call can have been made in knowledge of a search's answer.

    Calls issued together with the search start before its answer came: they neither consume nor reformulate it.
    """
    return call.at >= search.end


def answers(call: Call, search: Call, surface: str) -> bool:
    """Whether a call is a search in the same place that is no mere next page of this one."""
    return call.surface == surface and not _is_next_page(call.event.input, search.event.input)


def _is_next_page(later: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    moved = False
    for name in later.keys() | earlier.keys():
        if later.get(name) != earlier.get(name):
            if name not in _PAGING:
                return False
            moved = True
    return moved
