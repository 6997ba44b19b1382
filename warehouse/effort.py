"""How differently agents fare with like questions: pure. It tells of the index and its aliases, never of an agent."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence

SIMILAR = 0.5
"""Token overlap (Jaccard) from which two queries count as the same question."""

_TOKEN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3400-\u9fff\uf900-\ufaff]+")


def tokens(query: str) -> frozenset[str]:
    """Return a query's words in lower case; of text without blanks (CJK) its single characters."""
    return frozenset(_TOKEN.findall(query.lower()))


def clusters(queries: Iterable[str]) -> dict[str, int]:
    """Return a group number for each distinct query: the first earlier group leader that is similar enough, else new.

    The order of the queries does not matter: they are taken in alphabetical order.
    """
    leaders: list[frozenset[str]] = []
    with_token: dict[str, list[int]] = {}
    found: dict[str, int] = {}
    for query in sorted(set(queries)):
        words = tokens(query)
        near = sorted({number for word in words for number in with_token.get(word, ())})
        group = next((number for number in near if jaccard(words, leaders[number]) >= SIMILAR), None)
        if group is None:
            group = len(leaders)
            leaders.append(words)
            for word in words:
                with_token.setdefault(word, []).append(group)
        found[query] = group
    return found


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the overlap of two sets in [0, 1]; 0 when both are empty."""
    union = len(a | b)
    return len(a & b) / union if union else 0.0


def deviations(rows: Sequence[Mapping[str, object]]) -> list[tuple[float, int]]:
    """Return (population deviation of the agents' mean reformulations, agents) of each group with two agents or more.

    Args:
        rows: One an invocation: agent, query, reformulations.
    """
    group_of = clusters(str(row["query"]) for row in rows)
    effort: dict[int, dict[str, list[float]]] = {}
    for row in rows:
        agents = effort.setdefault(group_of[str(row["query"])], {})
        agents.setdefault(str(row["agent"]), []).append(float(str(row["reformulations"])))
    return [
        (statistics.pstdev([statistics.fmean(values) for values in agents.values()]), len(agents))
        for _, agents in sorted(effort.items())
        if len(agents) >= 2
    ]
