"""Field documentation of structs and settings, read from the source: the text that stands under each field."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldDoc:
    """One field: its name, its type as written, its default as written, and what stands under it."""

    name: str
    type: str
    default: str | None
    text: str


def field_docs(shape: type) -> list[FieldDoc]:
    """Return the fields that a class itself declares, in order."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(shape)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    found: list[FieldDoc] = []
    for here, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(here, ast.AnnAssign) or not isinstance(here.target, ast.Name):
            continue
        text = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            text = " ".join(after.value.value.split())
        default = None if here.value is None else ast.unparse(here.value)
        found.append(FieldDoc(here.target.id, ast.unparse(here.annotation), default, text))
    return found


def first_line(shape: type) -> str:
    """Return the first paragraph of a class's docstring on one line."""
    return " ".join((inspect.getdoc(shape) or "").split("\n\n")[0].split())


def table(shape: type) -> str:
    """Return a Markdown table of a class's own fields."""
    rows = [f"| `{f.name}` | `{_cell(f.type)}` | {_default(f.default)} | {_cell(f.text)} |" for f in field_docs(shape)]
    return "\n".join(["| field | type | default | |", "|---|---|---|---|", *rows])


def _default(written: str | None) -> str:
    return "required" if written is None else f"`{_cell(written)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
