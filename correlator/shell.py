"""What a shell command does with files: one classifier, on a real shell grammar, for the whole correlator.

It serves consumption, bundle boundaries, fallback, files read and files modified. Text that no grammar can read never
raises: it is class `other` with a reason. No file system is asked: a directory is known by its spelling alone.
"""

from __future__ import annotations

import re
from functools import lru_cache

from correlator.powershell import CMDLETS, interpret_powershell, is_powershell
from correlator.shell_commands import COMMANDS
from correlator.shell_lexer import pipelines_of
from correlator.shell_run import ONLY_OTHER, SPECIAL, Runner, Scope, ShellVerdict
from correlator.shell_tree import TreeReader

MAX_CACHED = 4_096
"""Longest command that is remembered; longer ones hardly ever come twice."""


_WORD = re.compile(r"[A-Za-z0-9_.+-]+")
_KNOWN = COMMANDS | SPECIAL | CMDLETS
_NOTHING = ShellVerdict(ONLY_OTHER, (), ())


__all__ = ["ShellVerdict", "classify", "classify_by_grammar"]


def classify(command: str, *, powershell: bool = False) -> ShellVerdict:
    """Return what a command does; never raises.

    Args:
        command: The text.
        powershell: The tool says that it is PowerShell; else a cmdlet at the place of a command tells.
    """
    return remembered(command, powershell) if len(command) <= MAX_CACHED else _classify(command, powershell)


def _classify(command: str, powershell: bool = False, *, by_grammar_only: bool = False) -> ShellVerdict:
    command = command.replace("\r\n", "\n")
    if ">" not in command and "<" not in command and _KNOWN.isdisjoint(_WORD.findall(command.lower())):
        return _NOTHING

    def script(text: str, scope: Scope) -> None:
        pipelines = None if by_grammar_only else pipelines_of(text)
        if pipelines is None:
            TreeReader(runner).read(text, scope)
        else:
            for stages in pipelines:
                runner.pipeline(stages, scope)

    runner = Runner(script)
    if powershell or is_powershell(command):
        runner.take(interpret_powershell(command), Scope(), shown=True)
    else:
        script(command, Scope())
    return runner.verdict()


remembered = lru_cache(maxsize=8_192)(_classify)


def classify_by_grammar(command: str) -> ShellVerdict:
    """Return the same verdict by the grammar alone, without the lexer's short cut."""
    return _classify(command, by_grammar_only=True)
