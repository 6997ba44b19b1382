"""The configuration of a KRaft node as text: every node is broker and controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ports:
    """The loopback ports of one node."""

    client: int
    """Plain text; in a secured cluster between brokers only, and for whoever administers it."""
    controller: int
    secured: int
    """SASL over TLS; unused in a cluster without security."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """What a secured cluster needs: a certificate and users. Clients come over SASL_SSL and need ACLs."""

    keystore: Path
    """PKCS12 with the key of `localhost`."""
    keystore_password: str
    users: Mapping[str, str]
    """User -> password, for SASL/PLAIN and SCRAM alike."""

    def scram_arguments(self) -> list[str]:
        """Return the arguments of the format tool that create the users for SCRAM."""
        return [
            argument
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
            for user, password in self.users.items()
            for argument in ("--add-scram", f"{mechanism}=[name={user},password={password}]")
        ]


def server_properties(node: int, cluster: Sequence[Ports], folder: Path, security: Security | None = None) -> str:
    """Return `server.properties` of one node, `node` from 1 on."""
    ports = cluster[node - 1]
    replicas = min(3, len(cluster))
    voters = ",".join(f"{n}@127.0.0.1:{p.controller}" for n, p in enumerate(cluster, start=1))
    listeners = f"PLAINTEXT://127.0.0.1:{ports.client},CONTROLLER://127.0.0.1:{ports.controller}"
    advertised = f"PLAINTEXT://127.0.0.1:{ports.client}"
    if security:
        listeners += f",SASL_SSL://127.0.0.1:{ports.secured}"
        advertised += f",SASL_SSL://localhost:{ports.secured}"
    settings = {
        "process.roles": "broker,controller",
        "node.id": str(node),
        "controller.quorum.voters": voters,
        "listeners": listeners,
        "advertised.listeners": advertised,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(folder / "log"),
        "auto.create.topics.enable": "false",
        "default.replication.factor": str(replicas),
        "min.insync.replicas": str(max(1, replicas - 1)),
        "offsets.topic.replication.factor": str(replicas),
        "offsets.topic.num.partitions": "4",  # one machine: 50 would only cost file handles
        "transaction.state.log.replication.factor": str(replicas),
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": str(replicas),
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        "log.cleaner.backoff.ms": "1000",
    }
    settings |= _secured(security) if security else {}
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def _secured(security: Security) -> dict[str, str]:
    users = " ".join(f'user_{user}="{password}"' for user, password in security.users.items())
    plain = f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    listener = "listener.name.sasl_ssl"
    return {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        f"{listener}.plain.sasl.jaas.config": plain,
        f"{listener}.scram-sha-256.sasl.jaas.config": scram,
        f"{listener}.scram-sha-512.sasl.jaas.config": scram,
        f"{listener}.ssl.keystore.type": "PKCS12",
        f"{listener}.ssl.keystore.location": str(security.keystore),
        f"{listener}.ssl.keystore.password": security.keystore_password,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",  # the brokers among themselves, on loopback
    }
