"""Shell commands that run another command: `env`, `sudo`, `timeout`, `uv run`, as a table with their options."""

from __future__ import annotations

import re
from collections.abc import Sequence

from correlator.shell_options import Options, Word, long_options

_RUN = "uv run"
_RUNNERS = frozenset({"uv", "poetry", "pipenv", "pdm", "hatch", "rye"})
"""Commands whose sub-command `run` runs another in the project's environment."""

_WRAPPERS: dict[str, tuple[Options, int]] = {
    "env": (Options("uCS", long_options("unset chdir")), 0),
    "sudo": (Options("ugCDhpRrTtU"), 0),
    "nohup": (Options(), 0),
    "time": (Options("fo"), 0),
    "timeout": (Options("sk", long_options("signal kill-after")), 1),
    "nice": (Options("n"), 0),
    "ionice": (Options("cnp"), 0),
    "stdbuf": (Options("ioe"), 0),
    "command": (Options(), 0),
    "builtin": (Options(), 0),
    "exec": (Options("a"), 0),
    "doas": (Options("u"), 0),
    "noglob": (Options(), 0),
    "setsid": (Options(), 0),
    "busybox": (Options(), 0),
    _RUN: (Options("p", long_options("with python extra group package project directory env-file")), 0),
}
"""Commands that run another: their options, and operands of their own before it."""


def unwrapped(name: str, words: Sequence[Word]) -> Sequence[Word] | None:
    """Return the command that a wrapper runs, nothing when it only asks for one; null when it is no wrapper."""
    if name in _RUNNERS and len(words) > 1 and words[1].text == "run":
        name, words = _RUN, words[1:]
    if name not in _WRAPPERS:
        return None
    options, own = _WRAPPERS[name]
    rest = list(words[1:])
    while rest:
        text = rest[0].text
        if name == "command" and text in ("-v", "-V"):
            return []
        if text.startswith("-") and text != "-":
            long = text.startswith("--") and "=" not in text and text[2:] in options.long
            short = len(text) == 2 and text[1] in options.short
            del rest[: 2 if long or short else 1]
        elif re.match(r"[A-Za-z_]\w*=", text) and name in ("env", "sudo"):
            del rest[0]
        else:
            break
    return rest[own:]
