"""Exposures in columns: what was shown where, how old it is, and how much of it was opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DEEPEST_RANK = 20
"""Ranks below count as this one: too few exposures to tell them apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposures:
    """One entry an anchor and invocation; `anchor`, `tool` and `runtime` are positions in a list of names."""

    anchors: Sequence[str]
    """Names of the anchors, each once."""
    anchor: Ints
    rank: Ints
    """1-based, the best it was shown at, at most `DEEPEST_RANK`."""
    tool: Ints
    runtime: Ints
    age_days: Floats
    credit: Floats
    """In [0, 1]."""
    lists: Floats
    """Lists of the last 30 days that showed it."""
    list_credit: Floats
    """Credit of those lists."""
    kinds: Sequence[str]
    """By anchor, as the search said it; empty when it did not."""
    paths: Sequence[str]
    """By anchor, as the search said it."""

    def per_anchor(self, values: Floats) -> Floats:
        """Return the sum of a column for each anchor."""
        sums = np.bincount(self.anchor, weights=values, minlength=len(self.anchors))
        return sums.astype(np.float64)


def from_table(table: pa.Table) -> Exposures:
    """Return the exposures of an Arrow table with the columns of `ranking/sql/exposures.sql`."""
    anchor, anchors = _coded(table["anchor"])
    last = np.zeros(len(anchors), dtype=np.int64)
    last[anchor] = np.arange(len(anchor))
    return Exposures(
        anchors=anchors,
        anchor=anchor,
        rank=np.minimum(_floats(table["rank"]).astype(np.int64), DEEPEST_RANK),
        tool=_coded(table["tool"])[0],
        runtime=_coded(table["runtime"])[0],
        age_days=np.maximum(0.0, _floats(table["age_days"])),
        credit=_floats(table["credit"]),
        lists=_floats(table["lists"]),
        list_credit=_floats(table["list_credit"]),
        kinds=table["kind"].take(pa.array(last)).to_pylist(),
        paths=table["path"].take(pa.array(last)).to_pylist(),
    )


def _coded(column: Any) -> tuple[Ints, list[str]]:
    coded = column.combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    return np.asarray(coded.indices).astype(np.int64), coded.dictionary.to_pylist()


def _floats(column: Any) -> Floats:
    return np.asarray(column.to_numpy(), dtype=np.float64)
