"""Each test runs on every backend, on a topic of its own."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from streams.client import create_topics
from streams.testing import LocalLog
from streams.topics import TopicSpec
from tests.contract.backends import Backend, Broker, Local

PARTITIONS = 4


@pytest.fixture(
    params=["local", pytest.param("embedded", marks=pytest.mark.broker), pytest.param("kafka", marks=pytest.mark.kafka)]
)
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
