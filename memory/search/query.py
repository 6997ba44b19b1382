"""A query to terms: the same segmentation as the index, ids and stop words told apart, the number of terms bounded."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from memory.anchors import ID, anchor_key
from memory.index.segment import WORD, bigrams, has_cjk, normalise, parts, runs, segment
from memory.search.lexicon import TO_ENGLISH, chinese, compound

MAX_TERMS = 32
"""FTS5 is quadratic in the number of terms: 100,000 take more than a minute."""

MAX_CHARS = 4096
"""A longer query is cut first."""

MAX_PHRASE = 6
"""CJK runs up to this length are words or names: they are also searched as one phrase."""

_ENGLISH = """
a an and are as at be been but by can could did do does for from had has have how i if in into is it its me my no not of
on or our should so than that the their them then there these they this to was we were what when where which who why
will with would you your about after any before more much
"""
STOP_WORDS = frozenset(_ENGLISH.split())
"""English words that say nothing about what is sought."""

_CHINESE = """
的 了 吗 呢 吧 啊 么 和 与 或 在 是 有 我 你 他 它 们 这 那 怎么 什么 如何 为什 哪些 哪个 怎样 我们 你们 他们 么样
"""
STOP_RUNS = frozenset(_CHINESE.split())
"""Chinese words and bigrams that say nothing."""

_COMPOUND = re.compile(rf"{WORD}+(?:[_-]+{WORD}+)*(?:[./:@]{WORD}+(?:[_-]+{WORD}+)*)+")
"""`credentials.json`, `im.message.receive_v1`, `scripts/setup.sh`: words that only together are what is asked for."""

_PARTICLE = re.compile("[的了吗呢吧啊着与和及]")
LONG_RUN = 5
"""From this length on a CJK run is a sentence, which its particles part: no word of the index crosses them."""


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for."""

    text: str
    """As the index holds it."""
    phrases: tuple[str, ...]
    """Alternatives; each is one token or several in a row."""
    is_prefix: bool = False
    """A single CJK letter: matches every bigram that starts with it."""
    is_strong: bool = False
    """An id: more telling than any word."""
    is_literal: bool = False
    """An identifier, a file name, a dotted name: it stands for itself and has no meaning to be near to."""

    def match(self) -> str:
        """Return the term as an FTS5 expression; no letter of it is ever an operator."""
        quoted = [quote(phrase) for phrase in self.phrases]
        if self.is_prefix:
            quoted = [f"{text} *" for text in quoted]
        return quoted[0] if len(quoted) == 1 else f"({' OR '.join(quoted)})"


@dataclass(frozen=True, slots=True)
class Query:
    """A query as search uses it."""

    text: str
    terms: tuple[Term, ...]
    boosts: tuple[str, ...] = ()
    """Further phrases that lift a result but are not required: whole CJK runs, parts of identifiers."""
    ids: tuple[str, ...] = ()
    """Keys of the ids that the query names, in order."""
    truncated_terms: int = 0
    """Terms that were left out because there were too many."""
    is_cjk: bool = False

    @property
    def literal(self) -> float:
        """How far the query asks for its very letters, in [0, 1]: the share of literal terms, a lone word nearly."""
        if len(self.terms) == 1 and not self.is_cjk:
            return 1.0 if self.terms[0].is_literal else 0.8
        return sum(term.is_literal for term in self.terms) / len(self.terms) if self.terms else 0.0

    @property
    def strong(self) -> tuple[int, ...]:
        """Positions of the ids among the terms."""
        return tuple(at for at, term in enumerate(self.terms) if term.is_strong)


def quote(text: str) -> str:
    """Return a phrase in FTS5 quotes."""
    return '"' + text.replace('"', '""') + '"'


@lru_cache(maxsize=1024)
def parse(text: str) -> Query:
    """Return what to look for. Any text is a query; one without a letter or digit has no terms."""
    shown = normalise(text).replace("\x00", " ").strip()
    cut = shown[:MAX_CHARS]
    ids = tuple(dict.fromkeys(anchor_key(found.group()) for found in ID.finditer(cut)))
    terms: dict[str, Term] = {}
    boosts: dict[str, None] = {}
    for is_cjk, run in runs(cut):
        for term in _cjk_terms(run) if is_cjk else _word_terms(run):
            terms.setdefault(term.text.casefold(), term)
        if is_cjk and 2 < len(run) <= MAX_PHRASE:
            boosts[" ".join(bigrams(run))] = None
        elif not is_cjk:
            boosts.update(dict.fromkeys(part for part in parts(run) if len(part) > 1))
    for name in _COMPOUND.findall(cut):
        pieces = [term for is_cjk, run in runs(name) if not is_cjk for term in _word_terms(run)]
        terms.update({term.text.casefold(): replace(term, is_literal=True) for term in pieces})
        terms[name.casefold()] = Term(name, (segment(name),), is_literal=True)
    kept = _bilingual(_without_stop_words(list(terms.values())))
    return Query(
        text=shown,
        terms=tuple(kept[:MAX_TERMS]),
        boosts=tuple(boosts)[:MAX_TERMS],
        ids=ids,
        truncated_terms=max(0, len(kept) - MAX_TERMS),
        is_cjk=has_cjk(cut),
    )


def _cjk_terms(run: str) -> list[Term]:
    if len(run) == 1:
        return [Term(run, (run,), is_prefix=True)]
    words = [word for word in _PARTICLE.split(run) if len(word) > 1] if len(run) >= LONG_RUN else []
    return [Term(pair, (pair,)) for word in words or [run] for pair in bigrams(word)]


def _word_terms(run: str) -> list[Term]:
    """Return an identifier as one term: whole, or its parts in a row; ids also in their other spellings."""
    pieces = parts(run)
    phrases = [run, *([" ".join(pieces)] if pieces else [])]
    is_strong = ID.fullmatch(run) is not None or ID.fullmatch(run.replace("-", "")) is not None
    if is_strong and run[:1] in "Ff" and run[1:].isdigit():
        number = int(run[1:])
        phrases += [f"F{number}", f"F{number:03d}"]
    is_literal = bool(pieces) or not run.isalpha()
    return [Term(run, tuple(dict.fromkeys(phrases)), is_strong=is_strong, is_literal=is_literal)]


def _bilingual(terms: list[Term]) -> list[Term]:
    """Return the terms with their words in the other language as alternatives."""
    following = [*(term.text for term in terms[1:]), ""][: len(terms)]
    return [
        term
        if term.is_strong or term.is_prefix or term.is_literal
        else replace(term, phrases=tuple(dict.fromkeys([*term.phrases, *_others(term.text, after)])))
        for term, after in zip(terms, following, strict=True)
    ]


def _others(text: str, after: str) -> list[str]:
    if has_cjk(text):
        return list(TO_ENGLISH.get(text, ()))
    joined = compound(text, after)
    words = [*([joined] if joined is not None else []), *chinese(text)]
    return [" ".join(bigrams(word)) for word in words if len(word) > 1]


def _without_stop_words(terms: list[Term]) -> list[Term]:
    kept = [term for term in terms if term.text.casefold() not in STOP_WORDS and term.text not in STOP_RUNS]
    return kept or terms
