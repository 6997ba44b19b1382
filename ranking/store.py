"""What the gate has said and who overrode it: the last verdict in one file, every verdict and override in another."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from ranking.gate import GateReport
from ranking.switch import Override


class GateRecord:
    """The gate's memory below one folder."""

    def __init__(self, folder: Path) -> None:
        self._verdict = folder / "verdict.json"
        self._override = folder / "override.json"
        self._history = folder / "gate.ndjson"

    def report(self) -> GateReport | None:
        """Return the last verdict; None before the first."""
        try:
            return msgspec.json.decode(self._verdict.read_bytes(), type=GateReport)
        except FileNotFoundError:
            return None

    def override(self) -> Override | None:
        """Return the last override; None when there never was one."""
        try:
            return msgspec.json.decode(self._override.read_bytes(), type=Override)
        except FileNotFoundError:
            return None

    def remember(self, entry: GateReport | Override) -> None:
        """Keep a verdict or an override as the last one, and add it to the history."""
        path = self._verdict if isinstance(entry, GateReport) else self._override
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".tmp")
        unfinished.write_bytes(msgspec.json.encode(entry))
        with self._history.open("ab") as history:
            history.write(msgspec.json.encode(entry) + b"\n")
        os.replace(unfinished, path)
