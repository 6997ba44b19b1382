"""Loopback ports: free ones, and waiting until a child listens on one."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Sequence

from deploy.child import Child
from streams.errors import BrokerUnavailable


def free_ports(count: int) -> list[int]:
    """Return so many different loopback ports that nobody listens on at present."""
    with contextlib.ExitStack() as held:
        probes = [held.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def wait_until_listening(child: Child, ports: Sequence[int], *, seconds: float) -> None:
    """Return once the child accepts connections on these loopback ports.

    Raises:
        BrokerUnavailable: when it ended or did not listen in time; the child is stopped, its last words are told.
    """
    deadline = time.monotonic() + seconds
    for port in ports:
        while not listens(port):
            if not child.alive or time.monotonic() > deadline:
                child.stop()
                raise BrokerUnavailable(
                    f"expected {child.name} to listen on port {port} within {seconds:.0f} s, got:\n{child.last_words()}"
                )
            time.sleep(0.02)


def listens(port: int) -> bool:
    """Tell whether somebody accepts connections on a loopback port."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=0.2):
            return True
    except OSError:
        return False
