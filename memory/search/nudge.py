"""Questions that want everything, not the best: they are told about the coverage search."""

from __future__ import annotations

import re

_WANTS_ALL = re.compile(
    r"哪些|哪几|所有(?!权)|全部|历史上|历次|历来|都(?:有|聊|提|说|讨论)|提到过|聊过|讨论过|说过|积累|汇总|盘点|清单|一共"
    r"|\b(?:which|what)\s+(?:\w+\s+){0,3}(?:mention|discuss|cover|use|touch|refer)\w*"
    r"|\ball\s+(?:the\s+)?(?:places|threads|docs|documents|decisions|features|lessons|mentions|times|cases|discussions)\b"
    r"|\b(?:everywhere|every\s+(?:time|place|thread|document)|list\s+all|find\s+all|history\s+of|ever\s+(?:mention|discuss)\w*"
    r"|mentioned|accumulated|how\s+many\s+times|exhaustive)\b",
    re.IGNORECASE,
)

NUDGE = 'To find everything on this, not only the best, search with intent="coverage".'


def coverage_nudge(query: str) -> str | None:
    """Return the hint for a query that asks for everything; null for any other, whatever was found."""
    return NUDGE if _WANTS_ALL.search(query) else None
