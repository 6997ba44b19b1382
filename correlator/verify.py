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


def is_verification(command: str) -> bool:
    """Whether a shell command runs tests, a linter, a type checker or a build."""
    return _CHECKS.search(command) is not None
