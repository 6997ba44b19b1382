"""A search so simple that it can be read in a minute: for tests of the demo's sessions without a search store."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from deploy.demo.documents import DemoDocument, documents
from streams.recall import Candidate, DocRef

_WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")
_WEIGHTS = {"title": 8.0, "topics": 4.0, "body": 1.0}


def lookup(query: str, *, limit: int = 10) -> list[Candidate]:
    """Return the documents that hold a word of the query, best first: words weighted by rarity and place."""
    wanted = set(_words(query))
    scored = [(_score(wanted, document), document) for document in documents()]
    best = sorted((item for item in scored if item[0] > 0), key=lambda item: (-item[0], item[1].anchor))[:limit]
    return [
        Candidate(
            anchor=document.anchor,
            rank=rank,
            target=DocRef(path=document.path, anchor=document.anchor),
            title=document.title,
            score={"total": round(score, 4)},
        )
        for rank, (score, document) in enumerate(best, start=1)
    ]


def _score(wanted: set[str], document: DemoDocument) -> float:
    fields = {"title": document.title, "topics": " ".join(document.topics), "body": document.body}
    score = 0.0
    for name, text in fields.items():
        counts = Counter(_words(text))
        score += sum(_WEIGHTS[name] * _rarity(word) * counts[word] / (counts[word] + 1.2) for word in wanted)
    return score


def _rarity(word: str) -> float:
    holders = sum(word in _vocabulary(document) for document in documents())
    return math.log(1 + len(documents()) / (1 + holders))


_VOCABULARIES: dict[str, frozenset[str]] = {}


def _vocabulary(document: DemoDocument) -> frozenset[str]:
    if document.anchor not in _VOCABULARIES:
        _VOCABULARIES[document.anchor] = frozenset(_words(document.body))
    return _VOCABULARIES[document.anchor]


def _words(text: str) -> Sequence[str]:
    return _WORD.findall(text.lower())
