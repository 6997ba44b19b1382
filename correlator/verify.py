"""Commands that check work: tests, linters, type checkers, builds."""

from __future__ import annotations

import re

_CHECKS = re.compile(
    r"(?:^|[\s;|&(/'\"])(?:"
    r"pytest|tox|nox|unittest|jest|vitest|mocha|phpunit|rspec|ctest|"
    r"mypy|pyright|tsc|eslint|ruff|flake8|pylint|clippy|golangci-lint|"
    r"(?:npm|pnpm|yarn|bun|cargo|go|make|mvn|gradle|gradlew|dotnet|swift|mix|just|task)\s+(?:run\s+)?"
    r"(?:test|tests|check|lint|build|vet|verify|typecheck|ci)"
    r")(?:$|[\s;|&)'\":])"
)


_WORDS = frozenset(re.findall(r"[a-z]\w+", _CHECKS.pattern))
"""Every word that the pattern knows: a command without one needs no closer look."""


def is_verification(command: str) -> bool:
    """Whether a shell command runs tests, a linter, a type checker or a build."""
    return not _WORDS.isdisjoint(re.split(r"\W+", command)) and _CHECKS.search(command) is not None
