"""What a chat message says of finished work: accepted, refused, or nothing that counts. Chinese and English.

Words are weighed strictly, because a wrong acceptance verifies work that nobody accepted: a question, a hedge, a
condition or a "but" is no acceptance, whatever stands before it.
"""

from __future__ import annotations

import re
from typing import Literal

Polarity = Literal["accept", "refuse", "none"]

_REFUSALS = re.compile(
    r"不通过|未通过|没通过|没有通过|不同意|不批准|不可以|不能合|不要合|别合|先别|不行|不合入|打回|驳回|拒绝|撤回|回滚|有问题|还不|还没|暂不|暂缓|停一下|"
    r"\bnot?\s+(?:yet\b|approved?\b|accept|merge|ok\b|okay\b|ready|lgtm|good\b|go\b|pass)|\bnot\s+(?:\w+\s+){0,2}approved?\b"
    r"|\b(?:do\s+not|don['’]?t|can['’]?t|cannot|must\s+not|should\s+not|shouldn['’]?t|won['’]?t|never)\s+(?:\w+\s+)?"
    r"(?:merge|ship|approve|accept|land|release|go)"
    r"|\b(?:reject(?:ed)?|revert(?:ed)?|nack|no-go|changes\s+requested|request(?:ing)?\s+changes|needs?\s+(?:changes|work|fix\w*)"
    r"|disapprove[d]?|withdraw\w*|hold\s+off|roll(?:ed)?\s*back)\b|^\s*(?:stop|nope|-1)\b|^\s*no\b(?!\s+(?:problem|issue|worries|objection|concern))|👎|❌",
    re.I,
)
_CONTRAST = re.compile(
    r"但|不过|可是|然而|只是|除了|先.{0,12}再|之后再|\b(?:but|however|though|although|except|unless|just\s+one\s+thing|nit\b|"
    r"after\s+you|before\s+(?:you\s+)?merging|first)\b",
    re.I,
)
_CONDITION = re.compile(
    r"^(?:如果|要是|假如|若|倘若|一旦|只要|等(?!于)|待|除非)|(?:的话|才能|才可以|就可以合|再合)|\b(?:if|once|when|assuming|provided|"
    r"as\s+soon\s+as|until|pending|should\s+be)\b",
    re.I,
)
_HEDGE = re.compile(
    r"[?？]|(?:吗|吧|呢|么|嘛)[\s。.!！]*$|应该|可能|大概|也许|估计|\b(?:maybe|perhaps|probably|i\s+guess|i\s+think|seems|might)\b"
    r"|,?\s*(?:right|no|ok)\s*\?\s*$",
    re.I,
)
_WHOLE_YES = (
    "好|好的|好哒|行|可以|可以的|嗯|嗯好|是的|对|同意|合|合吧|合并|合入|合并吧|通过|没问题|放行|收下|批准|赞|上线|发布"
    "|merge|merge it|merge this|please merge|go|go ahead|ship|ship it|ok|okay|yes|yep|yeah|sure|accept|accepted|approve"
    "|approved|lgtm|looks good|looks good to me|sgtm|sounds good|pass|passed|great|perfect|land it|👍|✅|+1"
)
_WHOLE_CLAUSES = (
    "没问题|可以合入|可以合并|可以合|可以合了|可以上线|可以发布|直接合入|合入吧|合入|同意合入|通过|验收通过|评审通过|审核通过|放行|批准"
    "|go|go ahead|pass|lgtm|approved|i approve|accepted|merge it|please merge|ship it|good to merge"
    "|looks good to me|no problem|you can merge|can merge|can be merged"
)
_PARTS = re.compile(r"[,，、。；;!！\n]+|\.(?=\s|$)|\s+[-–—]+\s+")
_ROUND = re.compile(r"^(?:r|round|第)\s*\d+\s*(?:轮)?\s*[:：]\s*", re.I)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip(" \t\n.!！。~～,，").lower()


_YES = frozenset(_plain(words) for words in _WHOLE_YES.split("|"))
_CLAUSES = frozenset(_plain(words) for words in _WHOLE_CLAUSES.split("|"))


def polarity(text: str) -> Polarity:
    """Return what a message says of the work.

    A refusal anywhere wins. An acceptance is a whole message of assent, or a whole clause of it, in a message
    without question, hedge, condition or contrast.
    """
    said = _ROUND.sub("", text.strip())
    if not said:
        return "none"
    if _REFUSALS.search(said):
        return "refuse"
    clauses = {_plain(clause) for clause in _PARTS.split(said)}
    accepts = _plain(said) in _YES or not clauses.isdisjoint(_CLAUSES)
    if _HEDGE.search(said) or _CONDITION.search(said):
        return "none"
    if accepts and _CONTRAST.search(said):
        return "refuse"
    return "accept" if accepts else "none"
