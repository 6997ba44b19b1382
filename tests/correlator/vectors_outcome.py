"""Adapter of the area `outcome`: the sidecar and its rules; `list_recent` and the nudge belong to memory."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

from correlator.methods import SEARCH_TOOLS
from streams import outcome as sidecar
from streams.foreign import read_result
from streams.recall import Candidate, DocRef, RecallOutcome

Record = dict[str, Any]

MEMORY_KEYS = ("coverage_nudge_query", "since", "kinds", "rows", "docs", "collections", "suggested_scope", "items")
"""Inputs of `list_recent` and of the nudge."""


def outcome(given: Record) -> Record:
    if any(key in given for key in MEMORY_KEYS):
        return _memory(given)
    if "write_meta" in given:
        return _round_trip(given["write_meta"])
    if "stored_row" in given:
        row = given["stored_row"]
        status, count = sidecar.settle_stored(row["result_status"], row["result_count"])
        return {"status": status.value, "count": count}
    if "producer" in given:
        return _produced(given["producer"])
    for key in ("summary", "event_result_meta"):
        if key in given:
            return _answer(sidecar.from_structured(given[key]))
    return _read(given)


def _answer(said: RecallOutcome | None) -> Record:
    if said is None:
        return {"sidecar_valid": False, "status": None, "count": None}
    return {
        "sidecar_valid": True,
        "status": said.result_status.value,
        "count": said.result_count,
        "candidates": [candidate.anchor for candidate in said.candidates],
        "degraded": said.degraded,
        "effective_mode": said.effective_mode,
    }


def _round_trip(fields: Record) -> Record:
    said = sidecar.from_fields(fields)
    if said is None:
        return _answer(None)
    again = sidecar.parse(sidecar.with_sidecar("text", said))
    snippet = again.preview_items[0].snippet if again is not None and again.preview_items else None
    return {**_answer(again), "round_trip_snippet": snippet}


def _produced(made: Record) -> Record:
    shown: list[Any] = made.get("results") or made.get("candidates") or []
    status, count = sidecar.settle(
        len(shown),
        total=made.get("total"),
        offset=made.get("offset", 0),
        degraded=made.get("degraded", False),
        timed_out=made.get("timed_out", False),
    )
    said = RecallOutcome(
        result_status=status,
        result_count=count,
        intent=made.get("intent"),
        mode=made.get("mode"),
        degraded=made.get("degraded", False),
        degraded_reason=made.get("degrade_reason"),
        candidates=tuple(
            Candidate(anchor=str(each), rank=rank, target=DocRef(anchor=str(each)))
            for rank, each in enumerate(shown, start=1)
        ),
    )
    return _answer(sidecar.parse(sidecar.render(said)))


def _read(given: Record) -> Record:
    text, merged = given["tool_text"], given["merged"]
    ours = given["tool"] in SEARCH_TOOLS and given.get("tool_origin") != "foreign"
    said = read_result(text, merged=merged, ours=ours)
    valid = sidecar.parse(text or "") is not None
    return {**_answer(said), "sidecar_valid": valid, "display_text": sidecar.without_sidecar(text or "")}


def _memory(given: Record) -> Record:
    adapters: dict[str, Callable[[Record], Record]] = {}
    if importlib.util.find_spec("tests.memory.vectors") is not None:
        adapters = getattr(importlib.import_module("tests.memory.vectors"), "AREAS_OUTCOME", {})
    name = "nudge" if "coverage_nudge_query" in given else "list_recent"
    return adapters[name](given) if name in adapters else {}
