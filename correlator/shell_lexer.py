"""Reads the plain nine tenths of shell commands at once: words, quotes, pipes, lists and simple redirects.

It accepts only texts whose meaning needs no grammar: no expansion, no escape, no block, no here-document. Whatever else
a text holds makes it decline, and the grammar reads the text. A property test holds both readings equal.
"""

from __future__ import annotations

import re

from correlator.shell_options import Word
from correlator.shell_run import Stage
from correlator.shell_tree import redirect_output

_PLAIN = r"[A-Za-z0-9_./:@%+,=^*?-]++"
_TOKEN = (
    r"[ \t]*+(?:"
    r"(2>&1|1>&2|>&2)"
    rf"|([12&]?)>>?[ \t]*+({_PLAIN})"
    r"|(\|\||&&|;|\||\n++)"
    r"|('[^']*+'|\"[^\"$`\\!]*+\")"
    rf"|(~?{_PLAIN})"
    r")(?=[ \t;|\n>]|&&|\d>|$)"
)
_WHOLE = re.compile("(?:" + re.sub(r"\((?!\?)", "(?:", _TOKEN) + ")*+[ \t\n]*+")
_TOKENS = re.compile(_TOKEN)
_RESERVED = re.compile(
    r"(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|function|select|coproc|time|declare|export|local"
    r"|readonly|typeset|unset|alias|let)$|[A-Za-z_]\w*\+?="
)
"""First words that are no command: keywords, declarations, assignments."""

Pipelines = list[list[Stage]]


def pipelines_of(text: str) -> Pipelines | None:
    """Return the pipelines of a plain text in order, or null when it needs the grammar."""
    if _WHOLE.fullmatch(text) is None:
        return None
    words: list[Word] = []
    stage = Stage(words)
    stages = [stage]
    done: Pipelines = []
    for _, number, file, operator, quoted, plain in _TOKENS.findall(text.rstrip()):
        if plain:
            if not words and _RESERVED.match(plain):
                return None
            words.append(Word(plain, True, "*" in plain or "?" in plain))
        elif quoted:
            words.append(Word(quoted[1:-1]))
        elif file:
            if number != "2":
                redirect_output(stage, file)
        elif operator:
            if not words:
                return None
            if operator != "|":
                done.append(stages)
                stages = []
            words = []
            stage = Stage(words)
            stages.append(stage)
    if words:
        done.append(stages)
    elif len(stages) > 1 or stage.written:
        return None
    return done
