"""Starts each backend once for the whole suite."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator

import pytest

from deploy.broker import EmbeddedBroker
from streams.client import Connection, create_topics
from streams.testing import LocalLog
from streams.topics import TopicSpec
from tests.contract.backends import Backend, Broker, Local

PARTITIONS = 4


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with EmbeddedBroker(tmp_path_factory.mktemp("broker")) as connection:
        yield connection


@pytest.fixture(params=["local", pytest.param("embedded", marks=pytest.mark.broker)])
def backend(request: pytest.FixtureRequest) -> Backend:
    if request.param == "local":
        return Local(LocalLog(partitions=PARTITIONS))
    return Broker(request.getfixturevalue(request.param))


@pytest.fixture
def topic(backend: Backend) -> str:
    """A new topic with four partitions."""
    name = f"contract.{uuid.uuid4().hex}"
    if isinstance(backend, Broker):
        spec = TopicSpec(name=name, partitions=PARTITIONS, configs={"cleanup.policy": "delete"})
        asyncio.run(create_topics(backend.connection, [spec]))
    return name
