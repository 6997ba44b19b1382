"""Starts and stops Apache Kafka on loopback: one KRaft node for a small server, three for the failure tests."""

from __future__ import annotations

import base64
import socket
import subprocess
import uuid
from pathlib import Path
from types import TracebackType
from typing import Self

from deploy.child import Child, spawn
from deploy.kafka import jars
from deploy.kafka.properties import Ports, Security, server_properties
from deploy.ports import free_ports, wait_until_listening
from streams.errors import BrokerUnavailable

READY_SECONDS = 60.0
"""A node needs about 3 s on an idle machine, several times that when three start on two cores."""

_JAVA_OPTIONS = ("-Xms64m", "-Xmx512m", "-XX:+UseSerialGC")
"""A node of one machine is small; the serial collector keeps its threads and its memory few."""


class KafkaCluster:
    """Nodes of one cluster; its folder keeps what they hold, so that a later start goes on from there."""

    def __init__(
        self, folder: Path, *, nodes: int = 1, security: Security | None = None, lib: Path | None = None
    ) -> None:
        self._folder = folder
        self._lib = lib or jars.found()
        self._security = security
        self._ports = _ports(folder, nodes)
        self._children: dict[int, Child] = {}

    @property
    def bootstrap(self) -> str:
        """`host:port[,host:port]` of the plain listeners."""
        return ",".join(f"127.0.0.1:{ports.client}" for ports in self._ports)

    @property
    def secured_bootstrap(self) -> str:
        """`host:port[,host:port]` of the SASL_SSL listeners."""
        return ",".join(f"localhost:{ports.secured}" for ports in self._ports)

    def __enter__(self) -> Self:
        try:
            for node in self.nodes:
                self._format(node)
            for node in self.nodes:
                self.start(node)
            for node in self.nodes:
                self.wait(node)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    @property
    def nodes(self) -> range:
        """The nodes' numbers."""
        return range(1, len(self._ports) + 1)

    def start(self, node: int) -> None:
        """Start a node that does not run."""
        argv = [jars.java(), *_JAVA_OPTIONS, "-cp", f"{self._lib}/*", "kafka.Kafka", str(self._conf(node))]
        self._children[node] = spawn(f"kafka-{node}", argv, log=self._folder / f"node-{node}.log")

    def wait(self, node: int) -> None:
        """Return once a node accepts clients.

        Raises:
            BrokerUnavailable: when it ended or was not ready in time.
        """
        wait_until_listening(self._children[node], [self._ports[node - 1].client], seconds=READY_SECONDS)

    def kill(self, node: int) -> None:
        """Kill a node as a power cut would."""
        self._children[node].process.kill()
        self._children[node].process.wait()

    def run_tool(self, *arguments: str) -> str:
        """Run one of Kafka's own tools (class name first) and return what it printed.

        Raises:
            BrokerUnavailable: with the tool's own words when it failed.
        """
        done = subprocess.run(
            [jars.java(), "-Xmx256m", "-cp", f"{self._lib}/*", *arguments],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            raise BrokerUnavailable(f"{arguments[0]}: expected success, got:\n{done.stdout}{done.stderr}")
        return done.stdout

    def _conf(self, node: int) -> Path:
        return self._folder / f"node-{node}" / "server.properties"

    def _format(self, node: int) -> None:
        """Write the node's configuration and, the first time, its empty log."""
        conf = self._conf(node)
        conf.parent.mkdir(parents=True, exist_ok=True)
        conf.write_text(server_properties(node, self._ports, conf.parent, self._security), encoding="utf-8")
        conf.chmod(0o600)  # it may hold passwords
        if not (conf.parent / "log" / "meta.properties").exists():
            scram = self._security.scram_arguments() if self._security else []
            self.run_tool("kafka.tools.StorageTool", "format", "-t", self._cluster_id(), "-c", str(conf), *scram)

    def _cluster_id(self) -> str:
        path = self._folder / "cluster.id"
        if not path.exists():
            path.write_text(base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("="), encoding="utf-8")
        return path.read_text(encoding="utf-8")

    def _stop(self) -> None:
        for child in self._children.values():
            if child.alive:
                child.process.terminate()
        for child in self._children.values():
            child.stop()


def _ports(folder: Path, nodes: int) -> list[Ports]:
    """Return the ports of the cluster in this folder: those of its last start where they are still free."""
    path = folder / "ports"
    if path.exists():
        known = [int(word) for word in path.read_text(encoding="utf-8").split()]
        if len(known) == 3 * nodes and all(_is_free(port) for port in known):
            return [Ports(*known[3 * n : 3 * n + 3]) for n in range(nodes)]
    picked = free_ports(3 * nodes)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(" ".join(map(str, picked)), encoding="utf-8")
    return [Ports(*picked[3 * n : 3 * n + 3]) for n in range(nodes)]


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", port)) != 0
