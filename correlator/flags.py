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
    return call.at_ms >= search.end_ms


def answers(call: Call, search: Call, surface: str) -> bool:
    """Whether a call is a search in the same place that is no mere next page of this one."""
    return call.surface == surface and not _is_next_page(call.event.input, search.event.input)


def _is_next_page(later: Mapping[str, Any], earlier: Mapping[str, Any]) -> bool:
    if later == earlier or not (later.keys() | earlier.keys()) & _PAGING:
        return False
    return _without_paging(later) == _without_paging(earlier)


def _without_paging(tool_input: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in tool_input.items() if name not in _PAGING}
