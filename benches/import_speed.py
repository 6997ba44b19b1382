"""How fast session files become events, against the bare decoding of the same bytes.

Run: `python -m benches.import_speed [SESSIONS]` (default 300, of 40 calls each). Prints, for each stage, its cost as a
multiple of decoding the files' JSON with msgspec, and the sessions a second of the whole import on this machine.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from benches.sessions import write_sessions
from producers.adapters import claude_code
from producers.client import Publisher
from producers.job import Progress, import_paths
from producers.store import Ledger
from producers.translation import SourceFile
from streams import codec
from streams.testing import LocalLog


def main(sessions: int) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        size = write_sessions(root / "sessions", sessions)
        files = sorted((root / "sessions").iterdir())
        decode = _cpu(lambda: sum(_decode(path.read_bytes()) for path in files))
        translate = _cpu(lambda: sum(_translate(path) for path in files))
        steps: list[Progress] = []
        first = _cpu(lambda: _import(root, steps.append))
        second = _cpu(lambda: _import(root, steps.append))
    print(f"{sessions} sessions, {size / 1e6:.1f} MB, {steps[0].files} files, {steps[-1].events} events")
    print(f"decode (msgspec)      1.00 x   {size / 1e6 / decode:6.1f} MB/s")
    print(f"translate             {translate / decode:4.2f} x   {sessions / translate:6.1f} sessions/s")
    print(f"import, all new       {first / decode:4.2f} x   {sessions / first:6.1f} sessions/s")
    print(f"import, nothing new   {second / decode:4.2f} x   {sessions / second:6.1f} sessions/s")


def _cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _decode(data: bytes) -> int:
    return len([msgspec.json.decode(line) for line in data.splitlines()])


def _translate(path: Path) -> int:
    events = claude_code.translate([SourceFile(str(path), path.read_bytes())]).events
    return sum(len(value) for value in codec.batches(events))


def _import(root: Path, progress: Callable[[Progress], None]) -> None:
    ledger = Ledger(root / "ledger.sqlite")
    asyncio.run(import_paths([root / "sessions"], Publisher(LocalLog().emitter()), ledger, progress))
    ledger.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
