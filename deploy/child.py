"""Child processes that never outlive us: apart from the terminal, stopped in order, killed with their parent."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

STOP_SECONDS = 10.0
"""How long a child may take to finish its work after SIGTERM before it is killed."""


@dataclass(slots=True)
class Child:
    """One running child process and the file that takes its output."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path
    started: float
    """Seconds of the monotonic clock."""

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.started

    @property
    def alive(self) -> bool:
        """Tell whether it still runs."""
        return self.process.poll() is None

    def stop(self, seconds: float = STOP_SECONDS) -> int:
        """Ask it to stop, kill it when it does not within `seconds`, and return its exit code."""
        if self.alive:
            self.process.terminate()
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()

    def last_words(self, lines: int = 12) -> str:
        """Return the end of its log, for the message of an error."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


def spawn(name: str, argv: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None) -> Child:
    """Start a child in a session of its own, so that Ctrl-C reaches us alone and we stop it in order.

    On Linux the kernel kills it when we die, whatever killed us.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as sink:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            start_new_session=True,
            preexec_fn=_die_with_parent if sys.platform == "linux" else None,
        )
    return Child(name, process, log, time.monotonic())


_PR_SET_PDEATHSIG = 1
"""Source: prctl(2)."""


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
