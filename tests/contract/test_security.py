"""A secured Apache Kafka: SASL over TLS by three mechanisms, rights by ACL, one connection for every client of ours."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from correlator.agents import work
from correlator.consumer import WorkerOptions
from deploy.kafka.cluster import KafkaCluster
from deploy.kafka.properties import Security
from streams.client import Connection, SaslMechanism, ensure_topics
from streams.consumer import KafkaConsumer
from streams.emitter import KafkaEmitter
from streams.errors import BrokerUnavailable, ConfigError
from streams.topics import RECALL_EVENTS, TOOL_EVENTS
from tests.contract.backends import read
from tests.correlator.builders import a_search, an_end
from tests.correlator.local_worker import publish_to

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(180)]

PASSWORD = "store-password"
MECHANISMS: tuple[SaslMechanism, ...] = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@dataclass(frozen=True, slots=True)
class Secured:
    """A secured cluster and how its users connect."""

    worker: Connection
    """May read, write and create what Trodden needs."""
    stranger: Connection
    """Is known and may do nothing."""


@pytest.fixture(scope="module")
def secured(kafka_lib: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    keystore, authorities = certificate(folder)
    users = {"worker": "w-secret", "stranger": "s-secret"}
    security = Security(keystore=keystore, keystore_password=PASSWORD, users=users)
    with KafkaCluster(folder / "cluster", security=security, lib=kafka_lib) as cluster:
        for resource in ("--topic", "--group"):
            allow(cluster, "worker", resource, "*")
        allow(cluster, "worker", "--cluster")
        connection = Connection(
            bootstrap=cluster.secured_bootstrap,
            security_protocol="SASL_SSL",
            sasl_mechanism="PLAIN",
            sasl_username="worker",
            sasl_password=users["worker"],
            ssl_cafile=str(authorities),
            session_timeout_s=3.0,
        )
        asyncio.run(ensure_topics(connection, partitions=1))
        yield Secured(connection, replace(connection, sasl_username="stranger", sasl_password=users["stranger"]))


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate of our own for localhost: the keystore of the broker, and the PEM that clients trust."""
    keytool = shutil.which("keytool")
    if keytool is None:
        pytest.skip("expected Java's keytool on the PATH to make a certificate, got none")
    keystore, pem = folder / "broker.p12", folder / "authorities.pem"
    common = ["-keystore", str(keystore), "-storepass", PASSWORD, "-alias", "broker"]
    names = ["-dname", "CN=localhost", "-ext", "SAN=dns:localhost,ip:127.0.0.1"]
    run(keytool, "-genkeypair", "-keyalg", "RSA", "-validity", "30", "-storetype", "PKCS12", *common, *names)
    run(keytool, "-exportcert", "-rfc", "-file", str(pem), *common)
    return keystore, pem


def run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True, stdin=subprocess.DEVNULL)


def allow(cluster: KafkaCluster, user: str, *resource: str) -> None:
    principal = ["--add", "--allow-principal", f"User:{user}", "--operation", "All", *resource]
    cluster.run_tool("org.apache.kafka.tools.AclCommand", "--bootstrap-server", cluster.bootstrap, *principal)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_emitter_and_consumer_pass_by_every_mechanism(secured: Secured, mechanism: SaslMechanism) -> None:
    connection = replace(secured.worker, sasl_mechanism=mechanism)

    async def scenario() -> list[bytes | None]:
        async with (
            KafkaEmitter(connection) as emitter,
            KafkaConsumer(connection, ["agent.signals.v1"], group=f"g-{mechanism}") as consumer,
        ):
            _, offset = await emitter.emit("agent.signals.v1", key="k", value=mechanism.encode())
            return [record.value for record in await read(consumer, offset + 1)]

    assert asyncio.run(scenario())[-1] == mechanism.encode()


def test_the_worker_with_its_faust_consumer_passes_too(secured: Secured, tmp_path: Path) -> None:
    async def scenario() -> int:
        stop = asyncio.Event()
        working = asyncio.create_task(work(WorkerOptions(connection=secured.worker, folder=tmp_path), stop=stop))
        async with (
            KafkaEmitter(secured.worker) as emitter,
            KafkaConsumer(secured.worker, [RECALL_EVENTS.name], group="reader") as consumer,
        ):
            await publish_to(emitter, [a_search("docs/a.md", at_s=0), an_end(at_s=1)])
            recalls = await read(consumer, 1)
        stop.set()
        await working
        return len(recalls)

    assert asyncio.run(scenario()) >= 1


def test_a_wrong_password_ends_with_a_hint_and_is_not_told(secured: Secured) -> None:
    wrong = replace(secured.worker, sasl_password="not-the-secret")

    with pytest.raises(BrokerUnavailable, match="address, credentials and certificate") as caught:
        asyncio.run(ensure_topics(wrong, wait_s=2))

    assert "not-the-secret" not in str(caught.value)
    assert "not-the-secret" not in repr(wrong)


def test_who_has_no_right_is_told_so(secured: Secured) -> None:
    async def scenario() -> None:
        async with KafkaEmitter(secured.stranger, timeout_s=5) as emitter:
            await emitter.emit(TOOL_EVENTS.name, key="k", value=b"{}")

    with pytest.raises(ConfigError, match="refused our credentials or rights"):
        asyncio.run(scenario())


def test_a_certificate_that_nobody_vouches_for_is_refused(secured: Secured) -> None:
    async def scenario() -> None:
        async with KafkaEmitter(replace(secured.worker, ssl_cafile=None), timeout_s=5):
            pass

    with pytest.raises(BrokerUnavailable, match="acknowledgement"):
        asyncio.run(scenario())
