"""However a command ends, it leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.stack import SERVING

pytestmark = pytest.mark.broker


@pytest.fixture
def pipeline(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`trodden up` on a new folder, once it says that it is there."""
    process = subprocess.Popen(
        [sys.executable, "-m", "deploy.cli.main", "up", "--data", str(tmp_path / "data")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TRODDEN_COLLECTOR_PORT": "0"},
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "Ctrl-C" in line:
            break
    yield process
    process.kill()
    process.communicate()


def children_of(pid: int) -> set[int]:
    """Return the processes whose parent it is."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    return {int(child) for child, parent in (line.split() for line in listed.splitlines()) if int(parent) == pid}


def alive(pids: set[int]) -> set[int]:
    """Return those that still run; a zombie does not."""
    listed = subprocess.run(["ps", "-e", "-o", "pid=,stat="], capture_output=True, text=True, check=True).stdout
    running = {int(pid) for pid, state in (line.split() for line in listed.splitlines()) if not state.startswith("Z")}
    return pids & running


def wait_until_gone(pids: set[int]) -> set[int]:
    """Return those that are still there after at most ten seconds."""
    never = threading.Event()
    for _ in range(100):
        if not alive(pids):
            return set()
        never.wait(0.1)
    return alive(pids)


def test_ctrl_c_stops_broker_and_workers(pipeline: subprocess.Popen[str]) -> None:
    children = children_of(pipeline.pid)

    os.kill(pipeline.pid, signal.SIGINT)
    output, _ = pipeline.communicate(timeout=30)

    assert len(children) == 1 + len(SERVING), "a broker and its workers"
    assert pipeline.returncode == 0, output
    assert wait_until_gone(children) == set()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends orphans on Linux only")
def test_a_killed_command_takes_its_processes_with_it(pipeline: subprocess.Popen[str]) -> None:
    children = children_of(pipeline.pid)

    os.kill(pipeline.pid, signal.SIGKILL)
    pipeline.communicate(timeout=30)

    assert len(children) == 1 + len(SERVING)
    assert wait_until_gone(children) == set()
