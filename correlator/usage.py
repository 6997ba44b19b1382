"""Whether what was read shows in what was written, and how evenly agents fare with the same questions."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence


def is_referenced(anchor: str, text: str, path: str = "") -> bool:
    """Whether a text names a document, by its anchor as a whole token or by its path."""
    boundary = r"(?<![\w-]){}(?![\w-])"
    return any(name and re.search(boundary.format(re.escape(name)), text) is not None for name in (anchor, path))


def consumed_but_not_used_rate(
    consumed: Sequence[str], text: str, paths: Mapping[str, str] | None = None
) -> float | None:
    """Return the share in [0, 1] of consumed documents that the final text never names; null without consumption.

    Args:
        consumed: Anchors.
        text: Commit message, diff, review or post that the work ended in.
        paths: Path of an anchor, where known.
    """
    distinct = list(dict.fromkeys(consumed))
    if not distinct:
        return None
    unused = [anchor for anchor in distinct if not is_referenced(anchor, text, (paths or {}).get(anchor, ""))]
    return len(unused) / len(distinct)


def effort_deviation(groups: Iterable[Mapping[str, Sequence[float]]]) -> float | None:
    """Return how differently agents fare with the same questions: the population deviation of their mean effort.

    Args:
        groups: For each group of like queries, the reformulations of every agent. A group needs two agents.

    Null when no group has two agents; several groups are weighted by their number of agents.
    """
    found = [
        (len(means), statistics.pstdev(means))
        for group in groups
        if len(means := [statistics.fmean(values) for values in group.values() if values]) >= 2
    ]
    weight = sum(size for size, _ in found)
    return sum(size * deviation for size, deviation in found) / weight if weight else None
