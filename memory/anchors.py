"""Anchors: the stable ids of documents, how people spell them, and which one is meant."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_NUMBERED = re.compile(r"(?P<prefix>[A-Za-z]{1,4})[-_ ]?(?P<number>\d{1,6})$")
_PADDED = {"f": "F{:03d}", "adr": "ADR-{:03d}", "ll": "LL-{:03d}"}
_FEATURE_FILE = re.compile(r"(F\d{2,4})(?=[-_.]|$)", re.IGNORECASE)
_DECISION_FILE = re.compile(r"(?:ADR[-_]?)?(\d{3,4})(?=[-_.]|$)", re.IGNORECASE)

ID = re.compile(
    r"(?<![A-Za-z0-9_])(?:F\d{1,4}|(?:ADR|LL|KD|TD|AC|HW|PR|DF|OQ)-?\d+[a-z]?|Phase[ -]?[A-Z0-9])(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
"""Ids that name one thing: features, decisions, lessons, and the numbered items of the specification."""


def anchor_key(anchor: str) -> str:
    """Return the form under which spellings of one anchor meet: `F88`, `f088` and `F-88` are the same.

    Only whole ids are folded; `doc:plans/F88` keeps its path, without case.
    """
    text = anchor.strip()
    if (found := _NUMBERED.fullmatch(text)) is not None:
        return f"{found['prefix'].lower()}:{int(found['number'])}"
    return text.casefold()


def canonical(anchor: str) -> str:
    """Return an anchor in its usual spelling: `f88` is `F088`, `adr 5` is `ADR-005`; others stay as they are."""
    text = anchor.strip()
    found = _NUMBERED.fullmatch(text)
    if found is None or found["prefix"].lower() not in _PADDED:
        return text
    return _PADDED[found["prefix"].lower()].format(int(found["number"]))


def anchor_of_file(path: str) -> str | None:
    """Return the anchor that a file's name gives: `features/F040-lid.md`, `decisions/007-x.md`; else null."""
    pure = PurePosixPath(path)
    folder = pure.parent.name.lower()
    if folder in ("features", "specs") and (found := _FEATURE_FILE.match(pure.stem)) is not None:
        return canonical(found[1])
    if folder in ("decisions", "adr", "adrs") and (found := _DECISION_FILE.match(pure.stem)) is not None:
        return canonical(f"ADR-{found[1]}")
    return None


def path_anchor(path: str) -> str:
    """Return the anchor of a document that has no id of its own."""
    return f"doc:{path.removesuffix('.md')}"
