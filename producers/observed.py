"""One call as a runtime tells it, before anything is concluded from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from streams.events import ToolStatus, Touch
from streams.recall import RecallOutcome


@dataclass(slots=True, kw_only=True)
class Observed:
    """One call: filled in while its source is read."""

    call_id: str
    """Empty when the runtime gives none."""
    name: str
    input: dict[str, Any]
    at: datetime
    line: int
    turn_index: int = 0
    cwd: str = ""
    epoch: int = 0
    ended_at: datetime | None = None
    text: str | None = None
    """The result text that the model saw; null while there is none."""
    structured: Any = None
    """The runtime's own structured result, where it keeps one."""
    is_error: bool = False
    status: ToolStatus | None = None
    """What the runtime says outright; else read from the text."""
    exit_code: int | None = None
    recall: RecallOutcome | None = None
    """What a search showed, where the source says it apart from the result's text."""
    nth: int = 0
    """How many equal calls the session made before this one; names a call that has no id."""
    tool: str = ""
    """Canonical name, where it does not follow from the raw one alone."""
    touched: tuple[Touch, ...] = ()
    """What the runtime itself says that the call opened or changed; else it is read from the input."""
    extra: dict[str, Any] = field(default_factory=dict)
    """`error_kind` where the runtime says one; everything else travels with the event."""
