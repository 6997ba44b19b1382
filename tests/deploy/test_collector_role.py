"""The collector as a process role: listens, takes in, publishes, and stops in order."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from deploy.roles import collector
from deploy.settings import load
from streams.errors import ConfigError


def test_it_does_not_listen_to_the_network_without_a_token(tmp_path: Path) -> None:
    settings = load(data=tmp_path, host="0.0.0.0")

    with pytest.raises(ConfigError, match="TRODDEN_TOKEN"):
        asyncio.run(collector.main(settings, asyncio.Event()))


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("example.org", False)],
)
def test_only_this_machines_addresses_are_loopback(host: str, expected: bool) -> None:
    assert collector.is_loopback(host) is expected
