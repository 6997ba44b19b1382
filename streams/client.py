"""How every Kafka client of ours reaches the broker: one address, one set of credentials, one error tree."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka import errors as kafka
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from streams.errors import BrokerUnavailable, ConfigError, TroddenError
from streams.log import Partition, Position
from streams.topics import TOPICS, TopicSpec, specs

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Address and credentials of a broker; the same value serves Faust, aiokafka and the admin client."""

    bootstrap: str
    """`host:port[,host:port]`."""
    security_protocol: SecurityProtocol = "PLAINTEXT"
    sasl_mechanism: SaslMechanism = "PLAIN"
    sasl_username: str = ""
    sasl_password: str = field(default="", repr=False)
    ssl_cafile: str | None = None
    """PEM file of the authorities to trust; null trusts the system's."""
    session_timeout_s: float = 6.0
    """A member that says nothing for so long leaves its group; brokers of tests allow less than real ones."""

    @property
    def encrypted(self) -> bool:
        """Tell whether the connection uses TLS."""
        return self.security_protocol in ("SSL", "SASL_SSL")

    @property
    def authenticated(self) -> bool:
        """Tell whether the connection uses SASL."""
        return self.security_protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments that every aiokafka client takes."""
        options: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap,
            "security_protocol": self.security_protocol,
        }
        if self.encrypted:
            options["ssl_context"] = self.ssl_context()
        if self.authenticated:
            options |= {
                "sasl_mechanism": self.sasl_mechanism,
                "sasl_plain_username": self.sasl_username,
                "sasl_plain_password": self.sasl_password,
            }
        return options

    def ssl_context(self) -> ssl.SSLContext:
        """Return a client context that checks the broker's certificate and host name.

        Raises:
            ConfigError: when the file of authorities cannot be used.
        """
        try:
            return ssl.create_default_context(cafile=self.ssl_cafile)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"ssl_cafile: expected a readable PEM file, got {self.ssl_cafile!r}: {error}") from error


_CONFIG_FAULTS = (
    kafka.AuthenticationFailedError,
    kafka.SaslAuthenticationFailed,
    kafka.UnsupportedSaslMechanismError,
    kafka.TopicAuthorizationFailedError,
    kafka.GroupAuthorizationFailedError,
    kafka.ClusterAuthorizationFailedError,
)


def translated(error: BaseException, doing: str) -> TroddenError:
    """Return the error of our tree that a client's error means: credentials are terminal, the rest is retried."""
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, _CONFIG_FAULTS):
        return ConfigError(f"{doing}: the broker refused our credentials or rights: {reason}")
    hint = " (check address, credentials and certificate)" if isinstance(error, kafka.KafkaConnectionError) else ""
    return BrokerUnavailable(f"{doing}: expected the broker's acknowledgement, got {reason}{hint}")


_TOPIC_EXISTS = 36
"""Source: Kafka protocol, error codes."""


async def ensure_topics(connection: Connection, *, partitions: int | None = None, wait_s: float = 30.0) -> list[str]:
    """Create the topics of the catalogue that are missing, dead-letter topics included, and return their names.

    Changes no topic that exists. Waits for a broker that is still starting; `partitions` overrides the
    catalogue's number for new topics.

    Raises:
        BrokerUnavailable: when no broker answered within `wait_s`, or a topic was refused for now.
        ConfigError: when the broker refuses our credentials or rights.
    """
    return await create_topics(connection, specs(TOPICS, partitions=partitions), wait_s=wait_s)


async def create_topics(connection: Connection, wanted: Sequence[TopicSpec], *, wait_s: float = 30.0) -> list[str]:
    """Create those of the wanted topics that are missing and return their names; as `ensure_topics`."""
    admin = await _connected_admin(connection, wait_s)
    try:
        existing = set(await admin.list_topics())
        missing = [spec for spec in wanted if spec.name not in existing]
        if not missing:
            return []
        created = await _create(admin, missing)
        await _until_visible(admin, {spec.name for spec in missing}, wait_s)
        return created
    except (kafka.KafkaError, OSError) as error:
        raise translated(error, "creating topics") from error
    finally:
        await admin.close()


async def found_topics(connection: Connection, names: Sequence[str], *, wait_s: float = 30.0) -> list[TopicSpec]:
    """Return the topics of these names that the broker has, with their partitions and configs.

    Raises:
        BrokerUnavailable: when no broker answered within `wait_s`.
        ConfigError: when the broker refuses our credentials or rights.
    """
    admin = await _connected_admin(connection, wait_s)
    try:
        existing = sorted(set(await admin.list_topics()) & set(names))
        if not existing:
            return []
        counts = {each["topic"]: len(each["partitions"]) for each in await admin.describe_topics(existing)}
        asked = [ConfigResource(ConfigResourceType.TOPIC, name) for name in existing]
        answers = await admin.describe_configs(asked)
    except (kafka.KafkaError, OSError) as error:
        raise translated(error, "describing topics") from error
    finally:
        await admin.close()
    configs = {name: dict(entry[:2] for entry in told) for each in answers for *_, name, told in each.resources}
    return [TopicSpec(name=name, partitions=counts[name], configs=configs[name]) for name in existing]


async def _create(admin: AIOKafkaAdminClient, missing: Sequence[TopicSpec]) -> list[str]:
    replicas = min(3, len(admin._client.cluster.brokers()) or 1)
    response = await admin.create_topics(
        [NewTopic(spec.name, spec.partitions, replicas, topic_configs=dict(spec.configs)) for spec in missing]
    )
    for topic, code, *rest in response.topic_errors:
        if code not in (0, _TOPIC_EXISTS):
            raise translated(kafka.for_code(code)(*rest), f"creating {topic}")
    return [topic for topic, code, *_ in response.topic_errors if code == 0]


async def _until_visible(admin: AIOKafkaAdminClient, names: set[str], wait_s: float) -> None:
    """Wait until the brokers tell of topics that a controller has made."""
    deadline = asyncio.get_running_loop().time() + wait_s
    while not names <= set(await admin.list_topics()):
        if asyncio.get_running_loop().time() > deadline:
            raise BrokerUnavailable(
                f"expected topics {', '.join(sorted(names))} within {wait_s:.0f} s, got none of them"
            )
        await asyncio.sleep(0.05)


async def _connected_admin(connection: Connection, wait_s: float) -> AIOKafkaAdminClient:
    deadline = asyncio.get_running_loop().time() + wait_s
    while True:
        admin = AIOKafkaAdminClient(**connection.options(), client_id="trodden")
        try:
            await admin.start()
        except (kafka.KafkaError, OSError) as error:
            await admin.close()
            fault = translated(error, f"connecting to {connection.bootstrap}")
            if isinstance(fault, ConfigError) or asyncio.get_running_loop().time() > deadline:
                raise fault from error
            await asyncio.sleep(0.1)
        else:
            return admin


async def log_id(connection: Connection, *, wait_s: float = 30.0) -> str:
    """Return the id of the cluster: offsets of two logs with different ids have nothing to do with each other.

    Raises:
        BrokerUnavailable: when no broker answered within `wait_s`.
    """
    admin = await _connected_admin(connection, wait_s)
    try:
        return str((await admin.describe_cluster())["cluster_id"])
    finally:
        await admin.close()


async def lag(connection: Connection, group: str, topics: Sequence[str]) -> dict[Partition, int]:
    """Return, by partition, how many records a group has not committed yet.

    Raises:
        BrokerUnavailable: when the broker does not answer.
    """
    return {partition: at.lag for partition, at in (await positions(connection, group, topics)).items()}


async def positions(connection: Connection, group: str, topics: Sequence[str]) -> dict[Partition, Position]:
    """Return how far a group has got in each partition of these topics.

    The end of a partition is taken from a fetch, which every broker answers rightly; the embedded one lists the
    end offset too low.

    Raises:
        BrokerUnavailable: when the broker does not answer.
    """
    tps = await partitions_of(connection, topics)
    reader = AIOKafkaConsumer(
        **connection.options(), group_id=group, enable_auto_commit=False, fetch_max_wait_ms=50, client_id="trodden-lag"
    )
    try:
        await reader.start()
        reader.assign(tps)
        starts, ends = await reader.beginning_offsets(tps), await _ends(reader, tps)
        return {
            Partition(tp.topic, tp.partition): Position(await reader.committed(tp) or starts[tp], ends[tp])
            for tp in tps
        }
    except (kafka.KafkaError, OSError) as error:
        raise translated(error, f"asking for the positions of {group}") from error
    finally:
        await reader.stop()


async def partitions_of(connection: Connection, topics: Sequence[str]) -> list[TopicPartition]:
    """Return every partition of these topics.

    Raises:
        BrokerUnavailable: when the broker does not answer, or has no such topic (yet).
    """
    admin = await _connected_admin(connection, _FETCH_SECONDS)
    try:
        described = await admin.describe_topics(list(topics))
    except (kafka.KafkaError, OSError) as error:
        raise translated(error, "describing topics") from error
    finally:
        await admin.close()
    found = {topic["topic"]: [p["partition"] for p in topic["partitions"]] for topic in described}
    if missing := [topic for topic in topics if not found.get(topic)]:
        raise BrokerUnavailable(f"expected topics {', '.join(missing)} on the broker, got none of that name")
    return [TopicPartition(topic, number) for topic in topics for number in sorted(found[topic])]


async def _ends(reader: AIOKafkaConsumer, tps: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
    for tp, offset in (await reader.end_offsets(tps)).items():
        reader.seek(tp, offset)
    deadline = asyncio.get_running_loop().time() + _FETCH_SECONDS
    while any(reader.highwater(tp) is None for tp in tps):
        if asyncio.get_running_loop().time() > deadline:
            raise BrokerUnavailable(f"expected an answer for {len(tps)} partitions within {_FETCH_SECONDS} s, got none")
        await reader.getmany(timeout_ms=50)
    return {tp: reader.highwater(tp) for tp in tps}


_FETCH_SECONDS = 10.0
