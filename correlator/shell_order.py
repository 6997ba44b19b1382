"""Puts the nested nodes of one statement into the pipelines that the shell runs, one after the other.

The grammar hangs a trailing redirect on everything before it (`a && b > out` is read as `(a && b) > out`), a pipe
behind a redirect likewise, and what stands behind a here-document's mark inside the here-document. The shell ties
them to the last command.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tree_sitter import Node

REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
"""Node types of redirects."""


@dataclass(slots=True)
class Part:
    """One command of a pipe as the grammar has it."""

    node: Node | None = None
    """Null when there are only redirects."""
    redirects: list[Node] = field(default_factory=list)
    """Those that stand behind it, in order."""


def pipelines_in(statement: Node) -> list[list[Part]]:
    """Return the statement's pipelines in the order they run; depth of nesting does not matter."""
    pipelines: list[list[Part]] = [[]]
    todo: list[Node | None] = [statement]
    while todo:
        node = todo.pop()
        if node is None:
            pipelines.append([])
        elif node.type == "list":
            todo.extend(_reversed_with_gaps(node))
        elif node.type in ("pipeline", "negated_command"):
            todo.extend(_parts(node)[::-1])
        elif node.type == "redirected_statement":
            body = node.child_by_field_name("body")
            todo.extend(node.children_by_field_name("redirect")[::-1])
            if body is not None:
                todo.append(body)
        elif node.type in REDIRECTS:
            _last(pipelines).redirects.append(node)
            todo.extend(_behind_heredoc(node))
        else:
            pipelines[-1].append(Part(node))
    return [pipeline for pipeline in pipelines if pipeline]


def _last(pipelines: list[list[Part]]) -> Part:
    if not pipelines[-1]:
        pipelines[-1].append(Part())
    return pipelines[-1][-1]


def _parts(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "comment"]


def _reversed_with_gaps(node: Node) -> list[Node | None]:
    """The parts of a list from the last to the first, with a null where a new pipeline begins."""
    parts: list[Node | None] = []
    for child in _parts(node)[::-1]:
        parts.extend((child, None))
    return parts[:-1]


def _behind_heredoc(redirect: Node) -> list[Node | None]:
    """What follows a here-document's mark on its line, last first: a pipe goes on, `&&` and `||` begin anew."""
    if redirect.type != "heredoc_redirect":
        return []
    behind: list[Node | None] = []
    for at, child in enumerate(redirect.children):
        if redirect.field_name_for_child(at) == "right":
            behind.extend((None, child))
        elif child.type in ("pipeline", "file_redirect"):
            behind.append(child)
    return behind[::-1]
