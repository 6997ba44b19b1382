"""The `trodden` command: a visible tuple of commands, each in a file of its own, imported when it is called."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import typer
from rich.console import Console

from streams.errors import TroddenError


@dataclass(frozen=True, slots=True)
class Command:
    """One command: `module` holds `command`, a function with typer annotations or a `typer.Typer` of sub-commands."""

    name: str
    module: str


COMMANDS: tuple[Command, ...] = (
    Command("anchors", "deploy.cli.anchors"),
    Command("compact", "deploy.cli.compact"),
    Command("demo", "deploy.cli.demo"),
    Command("dlq", "deploy.cli.dlq"),
    Command("diagnose", "deploy.cli.diagnose"),
    Command("explain", "deploy.cli.explain"),
    Command("forget", "deploy.cli.forget"),
    Command("gate", "deploy.cli.gate"),
    Command("eval", "deploy.cli.eval"),
    Command("import", "deploy.cli.import_"),
    Command("index", "deploy.cli.index"),
    Command("mcp", "deploy.cli.mcp"),
    Command("measures", "deploy.cli.measures"),
    Command("priors", "deploy.cli.priors"),
    Command("replay", "deploy.cli.replay"),
    Command("report", "deploy.cli.report"),
    Command("search", "deploy.cli.search"),
    Command("topics", "deploy.cli.topics"),
    Command("up", "deploy.cli.up"),
    Command("verify", "deploy.cli.verify"),
    Command("window-report", "deploy.cli.window_report"),
    Command("worker", "deploy.cli.worker"),
)

HELP = "See which memory search results your coding agents really used, and let the next search learn from it."


def build(commands: Sequence[Command]) -> typer.Typer:
    """Return the application with these commands."""
    app = typer.Typer(
        name="trodden", help=HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_show_locals=False
    )

    @app.callback()
    def root() -> None:
        """Do nothing of its own; it makes one command stay a sub-command."""

    root.__doc__ = HELP
    for entry in commands:
        command = importlib.import_module(entry.module).command
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=entry.name)
        else:
            app.command(entry.name)(command)
    return app


def main() -> None:
    """Run the command line. A known error prints one line and exits 2; only the called command is imported."""
    called = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
    chosen = [entry for entry in COMMANDS if entry.name == called] or COMMANDS
    try:
        build(chosen)()
    except TroddenError as error:
        Console(stderr=True).print(f"[red]{type(error).__name__}[/]: {error}", soft_wrap=True, highlight=False)
        sys.exit(2)


if __name__ == "__main__":
    main()
