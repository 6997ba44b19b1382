"""Configuration files of MCP clients: what has to stand in them for our server to be started."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from streams.errors import ConfigError

Client = Literal["claude", "codex"]
NAME = "trodden"


@dataclass(frozen=True, slots=True)
class Plan:
    """A file as it is going to be."""

    path: Path
    text: str
    is_done: bool
    """The file holds the server already."""


def planned(client: Client, folder: Path, command: Sequence[str]) -> Plan:
    """Return the client's file with our server added; everything else in it stays.

    Raises:
        ConfigError: when the file is there and cannot be read.
    """
    program = str(Path(shutil.which(command[0]) or command[0]).absolute())
    return (
        _claude(folder / ".mcp.json", [program, *command[1:]])
        if client == "claude"
        else _codex(folder / "config.toml", [program, *command[1:]])
    )


def _claude(path: Path, command: Sequence[str]) -> Plan:
    try:
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        servers = dict(known.get("mcpServers", {}))
    except (ValueError, AttributeError, TypeError) as error:
        raise ConfigError(f"{path} is no MCP configuration: {error}") from None
    entry = {"type": "stdio", "command": command[0], "args": list(command[1:])}
    is_done = servers.get(NAME) == entry
    text = json.dumps({**known, "mcpServers": {**servers, NAME: entry}}, indent=2, ensure_ascii=False) + "\n"
    return Plan(path, text, is_done)


def _codex(path: Path, command: Sequence[str]) -> Plan:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    try:
        known = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is no TOML: {error}") from None
    entry = {"command": command[0], "args": list(command[1:])}
    held = known.get("mcp_servers", {}).get(NAME)
    if held == entry:
        return Plan(path, text, True)
    if held is not None:
        raise ConfigError(f"{path} has another [mcp_servers.{NAME}]: remove it first")
    added = f"[mcp_servers.{NAME}]\ncommand = {json.dumps(entry['command'])}\nargs = {json.dumps(entry['args'])}\n"
    return Plan(path, f"{text.rstrip()}\n\n{added}" if text.strip() else added, False)


def written(plan: Plan) -> None:
    """Write a plan; the file is replaced whole, or not at all."""
    plan.path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = plan.path.with_name(plan.path.name + ".tmp")
    unfinished.write_text(plan.text, encoding="utf-8")
    unfinished.replace(plan.path)
