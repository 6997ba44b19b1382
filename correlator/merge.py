"""Several observations of one call become one, whatever their order: hook, transcript and trace of the same call.

Observations are put into one order of trust, and each field is taken from the first that knows it, so merging is
commutative, associative and idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from streams.events import TokenCost, ToolCalled, ToolStatus
from streams.recall import RecallOutcome, ResultStatus

_TRUST = ("transcript", "claude_code", "claude-code", "codex", "native", "hook", "otlp", "openinference", "mcp")
"""Parts of adapter names, the most trusted first. A runtime's own record beats a hook, a hook beats a trace."""

_FINISHED = (ToolStatus.ERROR, ToolStatus.OK, ToolStatus.DENIED, ToolStatus.INTERRUPTED)
"""A finished call beats an unfinished one; an error is said only on evidence, so it beats success."""

_FIRST_KNOWN = (
    "tool_raw",
    "input",
    "error_kind",
    "exit_code",
    "ended_at",
    "cwd",
    "context_epoch",
    "result_digest",
    "result_bytes",
    "touched",
    "thread_id",
    "turn_index",
)
"""Fields taken from the most trusted observation that fills them."""

_DEFAULTS = {
    field.name: field.default for field in msgspec.structs.fields(ToolCalled) if field.default is not msgspec.NODEFAULT
} | {"input": {}, "extra": {}}


def merged(observations: Sequence[ToolCalled]) -> ToolCalled:
    """Return one call out of its observations, of which there is at least one."""
    if len(observations) == 1:
        return observations[0]
    ordered = sorted(observations, key=_rank)
    first = ordered[0]
    changes: dict[str, object] = {}
    for name in _FIRST_KNOWN:
        value = next((value for each in ordered if (value := getattr(each, name)) != _DEFAULTS[name]), None)
        if value is not None:
            changes[name] = value
    changes["status"] = min((each.status for each in ordered), key=_FINISHED.index)
    changes["tokens"] = min((each.tokens for each in ordered), key=_token_rank)
    changes["recall"] = min((each.recall for each in ordered), key=_recall_rank)
    changes["result_truncated"] = any(each.result_truncated for each in ordered)
    return msgspec.structs.replace(first, **changes)


def _rank(call: ToolCalled) -> tuple[bool, int, str]:
    adapter = call.source.adapter
    trust = next((place for place, part in enumerate(_TRUST) if part in adapter), len(_TRUST))
    trust += len(_TRUST) if "hook" in adapter else 0
    return call.status is ToolStatus.INTERRUPTED, trust, call.event_id


def _token_rank(tokens: TokenCost) -> tuple[int, int]:
    unknown = (tokens.result is None) + (tokens.query is None)
    return ("native", "estimated", "unknown").index(tokens.quality), unknown


def _recall_rank(recall: RecallOutcome | None) -> tuple[int, int]:
    if recall is None:
        return 3, 0
    known = recall.result_status in (ResultStatus.COUNTED, ResultStatus.NO_RESULTS)
    return (0 if known else 1 if recall.result_status is not ResultStatus.RESULT_UNMERGED else 2), -len(
        recall.candidates
    )
