"""Frontmatter: the YAML block at the top of a Markdown file, read by a real YAML parser.

A byte order mark and CRLF are taken away first. Every scalar stays text (`2026-03-14`, `no` and `1.10` are what the
author wrote); what cannot be read is reported, and the file is indexed without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

_BLOCK = re.compile(r"---[ \t]*\n(?P<yaml>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_NULLS = frozenset({"", "~", "null", "none"})
MAX_BLOCK_CHARS = 64 * 1024
"""A longer block is no frontmatter but a mistake, or an attack on the parser."""


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is ten times faster, where it is built in


class _TextLoader(_Loader):  # type: ignore[misc]  # chosen at import
    """YAML in which every scalar is text."""


_TextLoader.yaml_implicit_resolvers = {}


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The fields of a file, keys in lower case with underscores, and where its body starts."""

    fields: Mapping[str, Any]
    body: str
    """The rest of the text, with LF line ends and without a byte order mark."""
    body_line: int
    """1-based line of the file on which the body starts."""
    problem: str | None = None

    def text(self, key: str) -> str | None:
        """Return a field as text, the first item of a list; null when absent, empty or a YAML null."""
        values = self.list(key, split=False)
        return values[0] if values else None

    def list(self, key: str, *, split: bool = True) -> tuple[str, ...]:
        """Return a field as a list of texts; a scalar `a, b` counts as two unless `split` is false."""
        value = self.fields.get(key)
        items = value if isinstance(value, list) else _scalars(value, split)
        texts = (str(item).strip() for item in items if isinstance(item, str | int | float))
        return tuple(text for text in texts if text.lower() not in _NULLS)


def _scalars(value: Any, split: bool) -> list[Any]:
    if not isinstance(value, str):
        return []
    return value.split(",") if split else [value]


def split(text: str) -> Frontmatter:
    """Part a file's text into its frontmatter and its body. Never raises."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    found = _BLOCK.match(text)
    if found is None or len(found["yaml"]) > MAX_BLOCK_CHARS:
        return Frontmatter({}, text, 1)
    body, line = text[found.end() :], text.count("\n", 0, found.end()) + 1
    try:
        fields = yaml.load(found["yaml"], Loader=_TextLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        return Frontmatter({}, body, line, f"frontmatter is no YAML: {_first_line(error)}")
    if fields is None or fields == "":
        return Frontmatter({}, body, line)
    if not isinstance(fields, dict):
        if isinstance(fields, str):
            return Frontmatter({}, text, 1)
        return Frontmatter({}, body, line, f"frontmatter should be a map, is a {type(fields).__name__}")
    return Frontmatter({_key(key): value for key, value in fields.items()}, body, line)


def _key(key: object) -> str:
    return str(key).strip().lower().replace("-", "_")


def _first_line(error: BaseException) -> str:
    return str(error).replace("\n", " ")[:200]
