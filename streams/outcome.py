"""The recall outcome contract: how a search tool says, for machines, what its answer was.

A tool ends its text with one line `<recall-meta>{json}</recall-meta>`, or puts the same object into MCP
`structuredContent`. `render` writes the line, `parse` and `from_fields` read it and reject what contradicts itself,
`settle` decides the status of an answer, `without_sidecar` takes the line away for people. Bad text never raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from streams.recall import (
    RECALL_SCHEMA_VERSION,
    Candidate,
    DocRef,
    InvocationRef,
    PassageRef,
    PreviewItem,
    RecallOutcome,
    ResultStatus,
    SessionRef,
    TargetRef,
    ThreadRef,
)

OPEN_TAG = "<recall-meta>"
CLOSE_TAG = "</recall-meta>"

SIDECAR_KEYS = ("recall_meta", "recallMeta", "recall-meta")
"""Keys under which MCP `structuredContent` (or `_meta`) may carry the outcome beside the tool's own fields."""

MAX_PREVIEW_ITEMS = 5

_NOTICE = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
"""What a runtime appends to a tool's text after the tool is done; it may follow the sidecar."""

_FIELDS = frozenset(RecallOutcome.__struct_fields__)
_CANDIDATE_FIELDS = frozenset(Candidate.__struct_fields__)
_COUNTED = (ResultStatus.COUNTED, ResultStatus.NO_RESULTS)


def render(outcome: RecallOutcome) -> str:
    """Return the sidecar line of an outcome: one line, snake_case keys, safe to append to any text.

    Raises:
        ValueError: when the outcome contradicts itself.
    """
    return f"{OPEN_TAG}{_escape(msgspec.json.encode(to_fields(outcome)).decode())}{CLOSE_TAG}"


def with_sidecar(text: str, outcome: RecallOutcome) -> str:
    """Return the tool's text with its sidecar as the last line."""
    return f"{text.rstrip()}\n{render(outcome)}" if text.strip() else render(outcome)


def to_fields(outcome: RecallOutcome) -> dict[str, Any]:
    """Return the outcome as plain JSON data, the form for MCP `structuredContent`.

    Raises:
        ValueError: when the outcome contradicts itself.
    """
    if (fault := contradiction(outcome)) is not None:
        raise ValueError(f"expected a consistent recall outcome, got one where {fault}")
    return {"schema_version": outcome.schema_version, **msgspec.to_builtins(outcome)}


def parse(text: str) -> RecallOutcome | None:
    """Return the outcome that the text ends with, or null when it has none that can be trusted.

    The last opening tag counts; only white space and a runtime's own notice may follow the closing tag, so that a
    document which quotes a sidecar in its body cannot speak for the tool.
    """
    span = _span(text)
    if span is None:
        return None
    try:
        fields = msgspec.json.decode(text[span[0] + len(OPEN_TAG) : span[1] - len(CLOSE_TAG)])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return from_fields(fields)


def without_sidecar(text: str) -> str:
    """Return the text without its sidecar, for people."""
    span = _span(text)
    return text if span is None else (text[: span[0]] + text[span[1] :]).rstrip()


def from_structured(content: object) -> RecallOutcome | None:
    """Return the outcome inside MCP `structuredContent` or `_meta`, or null."""
    if not isinstance(content, Mapping):
        return None
    for key in SIDECAR_KEYS:
        if key in content:
            return from_fields(content[key])
    return from_fields(content)


def from_fields(fields: object) -> RecallOutcome | None:
    """Return the outcome of decoded JSON data, snake_case or camelCase; null when it is none or contradicts itself."""
    if not isinstance(fields, Mapping):
        return None
    known = {
        name: value for key, value in fields.items() if (name := _snake(str(key))) in _FIELDS and value is not None
    }
    version = known.get("schema_version", RECALL_SCHEMA_VERSION)
    if not isinstance(version, int) or not 1 <= version <= RECALL_SCHEMA_VERSION + 1:
        return None
    try:
        known["candidates"] = _candidates(known.get("candidates", ()))
        known["preview_items"] = _previews(known.get("preview_items", ()))
        outcome = msgspec.convert(known, RecallOutcome)
    except (msgspec.ValidationError, TypeError, ValueError, KeyError, AttributeError):
        return None
    if outcome.result_status is ResultStatus.OVERFLOW:
        outcome = msgspec.structs.replace(outcome, result_count=None)
    return outcome if contradiction(outcome) is None else None


def contradiction(outcome: RecallOutcome) -> str | None:
    """Return in words where an outcome contradicts itself, or null when it is consistent."""
    status, count = outcome.result_status, outcome.result_count
    if status is ResultStatus.COUNTED and (count is None or count < 1):
        return f"counted has count {count}"
    if status is ResultStatus.NO_RESULTS and (count != 0 or outcome.candidates):
        return f"no_results has count {count} and {len(outcome.candidates)} candidates"
    if status not in _COUNTED and count is not None:
        return f"{status} has count {count}"
    if status is ResultStatus.OVERFLOW and not (outcome.artifact_ref or outcome.preview_items or outcome.candidates):
        return "overflow has neither a preview nor an artifact"
    if any(candidate.rank < 1 for candidate in outcome.candidates):
        return "a rank is below 1"
    return None


def settle(
    shown: int,
    *,
    total: int | None = None,
    offset: int = 0,
    degraded: bool = False,
    timed_out: bool = False,
    failed: bool = False,
) -> tuple[ResultStatus, int | None]:
    """Return status and count of an answer, so that a zero is only said by a search that looked everywhere.

    Args:
        shown: Results on this page.
        total: Results in all, where known.
        offset: Results before this page.
        degraded: A part of the search did not work.
        timed_out: The deadline ended the search.
        failed: The search itself raised.

    Source: F200 HW-8 (true zero, error and timeout are different facts).
    """
    if failed:
        return ResultStatus.ERROR, None
    count = max(total or 0, shown)
    if count > 0:
        return ResultStatus.COUNTED, count
    if timed_out:
        return ResultStatus.TIMEOUT, None
    if degraded or (offset > 0 and total is None):
        return ResultStatus.ERROR, None
    return ResultStatus.NO_RESULTS, 0


def settle_stored(status: str | None, count: int | None) -> tuple[ResultStatus, int | None]:
    """Return status and count of a row that an older version stored; what it did not write stays unknown."""
    try:
        known = ResultStatus(status) if status is not None else None
    except ValueError:
        return ResultStatus.LEGACY_UNKNOWN, None
    if known is None:
        known = ResultStatus.LEGACY_UNKNOWN if count is None else _of_count(count)
    if known not in _COUNTED:
        return known, None
    return (known, count) if count is not None and _of_count(count) is known else (ResultStatus.LEGACY_UNKNOWN, None)


def _of_count(count: int) -> ResultStatus:
    return ResultStatus.COUNTED if count > 0 else ResultStatus.NO_RESULTS


def target_of(
    anchor: str,
    *,
    path: str = "",
    doc_kind: str | None = None,
    passage_id: str = "",
    thread_id: str = "",
    session_id: str = "",
    invocation_id: str = "",
) -> TargetRef:
    """Return what a result opens: the most specific id it carries, then the shape of its anchor, then a document.

    Source: F200 Phase A (`targetRef` union); an anchor `thread-x` or `session-x` without a path names its thread or
    session, so that opening it counts.
    """
    if passage_id:
        return PassageRef(passage_id=passage_id, path=path, thread_id=thread_id)
    if invocation_id and session_id:
        return InvocationRef(session_id=session_id, invocation_id=invocation_id)
    if session_id:
        return SessionRef(session_id=session_id)
    if thread_id:
        return ThreadRef(thread_id=thread_id)
    kind, _, rest = anchor.partition("-")
    if rest and not path and (doc_kind is None or doc_kind.startswith(kind)):
        if kind == "thread":
            return ThreadRef(thread_id=rest)
        if kind == "session":
            return SessionRef(session_id=rest)
    if rest and not path and kind == "msg":
        return PassageRef(passage_id=anchor)
    return DocRef(path=path, anchor=anchor)


def _span(text: str) -> tuple[int, int] | None:
    start = text.rfind(OPEN_TAG)
    end = text.find(CLOSE_TAG, start) if start >= 0 else -1
    if end < 0:
        return None
    end += len(CLOSE_TAG)
    return None if _NOTICE.sub("", text[end:]).strip() else (start, end)


def _escape(encoded: str) -> str:
    """Angle brackets stand only inside JSON strings: as unicode escapes no value can close the tag."""
    return encoded.replace("<", "\\u003c").replace(">", "\\u003e")


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])[A-Z]", lambda found: "_" + found.group().lower(), name)


def _snake_keys(record: Mapping[str, Any]) -> dict[str, Any]:
    return {_snake(str(key)): value for key, value in record.items() if value is not None}


def _candidates(records: Sequence[Mapping[str, Any]]) -> tuple[Candidate, ...]:
    return tuple(_candidate(_snake_keys(record), position) for position, record in enumerate(records, start=1))


def _candidate(record: dict[str, Any], position: int) -> Candidate:
    target = record.pop("target", None) or record.pop("target_ref", None)
    path = str(record.pop("source_path", record.pop("path", "")))
    if target is not None:
        target = _snake_keys(target)
        target.setdefault("path", target.pop("source_path", ""))
    else:
        ids = {
            key: str(record[key]) for key in ("passage_id", "thread_id", "session_id", "invocation_id") if key in record
        }
        target = target_of(str(record["anchor"]), path=path, doc_kind=record.get("doc_kind"), **ids)
    if isinstance(record.get("score"), int | float):
        record["score"] = {"total": record["score"]}
    known = {key: value for key, value in record.items() if key in _CANDIDATE_FIELDS}
    return msgspec.convert({"rank": position, **known, "target": target}, Candidate, from_attributes=True)


def _previews(records: Sequence[Mapping[str, Any]]) -> tuple[PreviewItem, ...]:
    return tuple(msgspec.convert(_snake_keys(record), PreviewItem) for record in records[:MAX_PREVIEW_ITEMS])
