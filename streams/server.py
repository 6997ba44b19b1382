"""`/metrics` and `/healthz` of a worker role: a small HTTP server in a thread of its own."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from streams.log import Partition, Record
from streams.metrics import LAG, Metrics

MAX_SILENCE_SECONDS = 30.0
"""A role whose loop has not come round for so long is not healthy, whatever it waits for."""


class Health:
    """Whether a role makes progress: its loop tells it each time it comes round."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._progressed_at = clock()

    def progressed(self) -> None:
        """Tell that the loop has come round."""
        self._progressed_at = self._clock()

    @property
    def silence_s(self) -> float:
        """Seconds since the loop came round."""
        return self._clock() - self._progressed_at

    @property
    def healthy(self) -> bool:
        """Tell whether it came round lately."""
        return self.silence_s < MAX_SILENCE_SECONDS


@dataclass(slots=True)
class Telemetry:
    """What one process measures of itself."""

    metrics: Metrics = field(default_factory=Metrics)
    health: Health = field(default_factory=Health)

    def polled(self, stage: str, records: Iterable[Record], now: datetime) -> None:
        """Tell that a loop has come round and what it read: progress, and how old the newest records were."""
        self.health.progressed()
        for partition, at in {Partition(r.topic, r.partition): r.timestamp for r in records}.items():
            self.lags(stage, partition, (now - at).total_seconds())

    def lags(self, stage: str, partition: Partition, seconds: float) -> None:
        """Tell how old the newest record of a partition was when it was taken in."""
        self.metrics.set(LAG, max(0.0, seconds), stage=stage, partition=f"{partition.topic}/{partition.number}")


class MetricsServer:
    """Serves while the context is open; `port` 0 picks a free one."""

    def __init__(self, metrics: Metrics, health: Health, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._server = ThreadingHTTPServer((host, port), _handler(metrics, health))
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._server.server_port

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(metrics: Metrics, health: Health) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, CONTENT_TYPE_LATEST, generate_latest(metrics.registry))
            elif self.path == "/healthz":
                told = {"healthy": health.healthy, "seconds_since_progress": round(health.silence_s, 1)}
                self._answer(200 if health.healthy else 503, "application/json", json.dumps(told).encode())
            else:
                self._answer(404, "text/plain", b"expected /metrics or /healthz\n")

        def _answer(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: a scrape every few seconds is no news."""

    return Handler
