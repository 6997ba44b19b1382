"""Brokers that tests share: each is started once, when the first test asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.broker import EmbeddedBroker
from deploy.kafka import jars
from deploy.kafka.cluster import KafkaCluster
from streams.client import Connection
from streams.errors import ConfigError


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """The embedded broker."""
    with EmbeddedBroker(tmp_path_factory.mktemp("broker")) as connection:
        yield connection


@pytest.fixture(scope="session")
def kafka_lib() -> Path:
    """The folder with Apache Kafka's jars; skips without Java and Maven unless TRODDEN_REQUIRE_KAFKA is set."""
    try:
        return jars.fetch()
    except ConfigError as error:
        if os.environ.get("TRODDEN_REQUIRE_KAFKA"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def kafka(kafka_lib: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A single-node Apache Kafka."""
    with KafkaCluster(tmp_path_factory.mktemp("kafka"), lib=kafka_lib) as cluster:
        yield Connection(bootstrap=cluster.bootstrap, session_timeout_s=3.0)
