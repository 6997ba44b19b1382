"""Reads a shell text by a real grammar (tree-sitter's Bash) and hands its pipelines to a `Runner`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from correlator.shell_options import Word
from correlator.shell_order import REDIRECTS, Part, pipelines_in
from correlator.shell_run import MAX_DEPTH, Runner, Scope, Stage

_LANGUAGE = Language(tree_sitter_bash.language())


class TreeReader:
    """Walks the syntax tree of one text; what one statement changes, the next sees."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def read(self, text: str, scope: Scope) -> None:
        """Read a whole script."""
        root = Parser(_LANGUAGE).parse(text.encode("utf-8", "surrogatepass")).root_node
        if root.has_error:
            self._runner.reason = "not in the shell's grammar"
        self._statements(root.named_children, scope)

    def _statements(self, nodes: Sequence[Node], scope: Scope) -> None:
        for node in nodes:
            self._statement(node, scope)

    def _statement(self, node: Node, scope: Scope) -> None:
        for parts in pipelines_in(node):
            alone = parts[0].node if len(parts) == 1 and not parts[0].redirects else None
            if alone is None or alone.type in ("command", "subshell"):
                self._runner.pipeline([self._stage(part, scope) for part in parts], scope)
            else:
                self._compound(alone, scope)

    def _compound(self, node: Node, scope: Scope) -> None:
        kind = node.type
        if kind in ("variable_assignment", "variable_assignments", "declaration_command"):
            _assign(node, scope)
        elif kind == "for_statement":
            self._loop(node, scope)
        elif kind == "ERROR":
            self._runner.give_up("not in the shell's grammar")
        elif kind in _BLOCKS:
            self._nested(node.named_children, scope)

    def _nested(self, nodes: Sequence[Node], scope: Scope) -> None:
        if scope.depth > MAX_DEPTH:
            self._runner.give_up("nested too deeply")
            return
        scope.depth += 1
        self._statements(nodes, scope)
        scope.depth -= 1

    def _loop(self, node: Node, scope: Scope) -> None:
        """`for name in words; do ...; done`: the body sees every value."""
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        words = [word for value in node.children_by_field_name("value") for word in _expand(value, scope)][:16]
        if name is not None:
            scope.variables.pop(_text(name), None)
            if all(word.known and not word.glob for word in words):
                scope.variables[_text(name)] = [word.text for word in words]
        if body is not None:
            self._nested(body.named_children, scope)

    def _stage(self, part: Part, scope: Scope) -> Stage:
        node = part.node
        if node is None:
            stage = Stage(())
        elif node.type == "command":
            stage = self._command(node, scope)
        elif node.type == "subshell":
            stage = Stage((), block=self._block(node.named_children, apart=True))
        else:
            stage = Stage((), block=self._block([node], apart=False))
        for redirect in part.redirects:
            _redirect(redirect, stage, scope)
        return stage

    def _block(self, nodes: Sequence[Node], *, apart: bool) -> Callable[[Scope], None]:
        def run(scope: Scope) -> None:
            self._nested(nodes, scope.inner() if apart else scope)

        return run

    def _command(self, node: Node, scope: Scope) -> Stage:
        words = _words(node, scope)
        here = any(child.type == _HERE_STRING for child in node.children)
        speaks = bool(words) and (here or words[0].text in ("echo", "printf"))
        for inner in _substitutions(node):
            shown = inner.type == "process_substitution" or speaks
            self._nested(inner.named_children, scope.inner(shown=shown))
        stage = Stage(words)
        for child in node.children:
            if child.type in REDIRECTS:
                _redirect(child, stage, scope)
        return stage


def _redirect(redirect: Node, stage: Stage, scope: Scope) -> None:
    """Note where one redirect leads a stage's output, or from where its input comes."""
    if redirect.type != "file_redirect":
        stage.fed = True
        stage.program += "".join(_text(child) for child in redirect.named_children if child.type == "heredoc_body")
        return
    operator = next((child.type for child in redirect.children if not child.is_named), "")
    targets = redirect.children_by_field_name("destination")
    words = _expand(targets[0], scope) if targets else []
    behind = [word for target in targets[1:] for word in _expand(target, scope)]
    if behind:  # `cat > out a.md`: the grammar takes what stands behind the target for more targets
        stage.words = [*stage.words, *behind]
    descriptor = redirect.child_by_field_name("descriptor")
    path = words[0].text if words and words[0].known else ""
    if operator == "<":
        stage.fed = True
        stage.read = (*stage.read, *(word.text for word in words if word.known and not word.glob))
    elif operator in (">", ">>", ">|", "&>", "&>>") and (descriptor is None or _text(descriptor) == "1"):
        redirect_output(stage, path)


def redirect_output(stage: Stage, path: str) -> None:
    """Send a stage's standard output to a path; the terminal's own devices are still seen."""
    if path in ("/dev/stderr", "/dev/stdout", "/dev/tty"):
        return
    stage.shown = False
    if path and not path.startswith("/dev/"):
        stage.written = (*stage.written, path)


_HERE_STRING = "herestring_redirect"
_BLOCKS = frozenset(
    {
        "compound_statement",
        "if_statement",
        "elif_clause",
        "else_clause",
        "while_statement",
        "c_style_for_statement",
        "case_statement",
        "case_item",
        "do_group",
        "command_substitution",
        "process_substitution",
    }
)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _words(node: Node, scope: Scope) -> list[Word]:
    """The expanded words of a simple command; assignments before it are taken for it alone."""
    words: list[Word] = []
    for child in node.children:
        if child.type == "command_name":
            words.extend(_expand(child.named_children[0], scope) if child.named_children else [])
        elif child.type in _WORD_TYPES:
            words.extend(_expand(child, scope))
    return words


_WORD_TYPES = frozenset(
    {
        "word",
        "string",
        "raw_string",
        "concatenation",
        "number",
        "simple_expansion",
        "expansion",
        "ansi_c_string",
        "translated_string",
        "brace_expression",
        "command_substitution",
        "process_substitution",
        "arithmetic_expansion",
        "regex",
    }
)
_BRACES = re.compile(r"([^{}\s'\"$`]*)\{([^{}\s'\"$`]*,[^{}\s'\"$`]*)\}([^{}\s'\"$`]*)")


def _expand(node: Node, scope: Scope) -> list[Word]:
    """The words that one word of the text becomes."""
    kind = node.type
    if kind == "word":
        raw = _text(node)
        return [Word(re.sub(r"\\(.)", r"\1", raw, flags=re.S), glob=bool(re.search(r"(?<!\\)[*?\[]", raw)))]
    if kind == "raw_string":
        return [Word(_text(node)[1:-1])]
    if kind == "number":
        return [Word(_text(node))]
    if kind in ("simple_expansion", "expansion"):
        return _variable(node, scope)
    if kind == "ansi_c_string":
        return [Word(_text(node)[2:-1].replace("\\n", "\n").replace("\\t", "\t").replace("\\'", "'"))]
    if kind in ("string", "concatenation"):
        if kind == "concatenation" and (found := _BRACES.fullmatch(_text(node))):
            before, inside, after = found.groups()
            return [Word(before + each + after) for each in inside.split(",")]
        return _glued(node, scope)
    return [Word(_text(node), known=False)]


def _glued(node: Node, scope: Scope) -> list[Word]:
    """The product of the parts of a quoted or compound word, up to 16 words."""
    results = [Word("")]
    end = node.start_byte + (1 if node.type == "string" else 0)
    source = node.text or b""
    for child in node.children:
        gap = source[end - node.start_byte : child.start_byte - node.start_byte].decode("utf-8", "replace")
        end = child.end_byte
        if child.type == '"':
            continue
        parts = _string_part(child) if child.type == "string_content" else _expand(child, scope)
        results = [
            Word(left.text + gap + right.text, left.known and right.known, left.glob or right.glob)
            for left in results
            for right in parts
        ][:16]
    return results


def _string_part(node: Node) -> list[Word]:
    return [Word(re.sub(r'\\(["\\$`])', r"\1", _text(node)))]


def _variable(node: Node, scope: Scope) -> list[Word]:
    name = _text(node).strip("${}")
    if name in scope.variables:
        return [Word(value) for value in scope.variables[name]]
    if name == "HOME":
        return [Word("~")]
    if name == "PWD":
        return [Word(scope.cwd or ".")]
    return [Word(_text(node), known=False)]


def _assign(node: Node, scope: Scope) -> None:
    nodes = [node] if node.type == "variable_assignment" else node.named_children
    for each in nodes:
        name, value = each.child_by_field_name("name"), each.child_by_field_name("value")
        if name is None or value is None:
            continue
        words = _expand(value, scope)
        if all(word.known for word in words):
            scope.variables[_text(name)] = [word.text for word in words]
        else:
            scope.variables.pop(_text(name), None)


def _substitutions(node: Node) -> Iterator[Node]:
    """Command and process substitutions in a command's words, also inside quotes."""
    stack = [child for child in reversed(node.children) if child.type in _WORD_TYPES or child.type == _HERE_STRING]
    while stack:
        each = stack.pop()
        if each.type in ("command_substitution", "process_substitution"):
            yield each
        elif each.type in ("string", "concatenation", _HERE_STRING):
            stack.extend(reversed(each.named_children))
