"""The Faust application of a worker, set up so that nothing is lost.

Source of every setting: what was measured of faust-streaming 0.15.3 (docs/guides/streams.md). At least once, raw
bytes, acks by hand and in order, no tables, no windows, no web server, no topic made by Faust.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import faust
from faust.transport.drivers import aiokafka as driver

from streams.client import Connection


def worker_app(name: str, connection: Connection, *, folder: Path, commit_interval_s: float = 0.5) -> faust.App:
    """Return a Faust app whose consumer group is `name`; `folder` takes what little Faust writes to disk."""
    app = faust.App(
        name,
        broker=[f"kafka://{address}" for address in connection.bootstrap.split(",")],
        broker_credentials=_credentials(connection),
        broker_session_timeout=connection.session_timeout_s,
        broker_rebalance_timeout=connection.session_timeout_s,
        broker_heartbeat_interval=min(1.0, connection.session_timeout_s / 3),
        broker_commit_interval=commit_interval_s,
        broker_max_poll_interval=300.0,
        consumer_auto_offset_reset="earliest",
        processing_guarantee="at_least_once",
        value_serializer="raw",
        key_serializer="raw",
        stream_wait_empty=False,
        stream_buffer_maxsize=4096,
        topic_allow_declare=False,
        topic_disable_leader=True,
        store="memory://",
        datadir=str(folder),
        web_enabled=False,
        autodiscover=False,
    )
    app.transport = _Transport(app.conf.broker_consumer, app, loop=app.loop)
    return app


def acknowledge(app: faust.App, message: Any) -> None:
    """Mark a message as done; nothing else does, and messages of a partition are marked in offset order."""
    app.consumer.acknowledge(message)


FETCH_WAIT_MS = 50
"""A broker may hold an empty fetch so long; Faust's fixed 1.5 s is all waited out by a broker that does not wake up."""


class _Thread(driver.AIOKafkaConsumerThread):  # type: ignore[misc]  # faust is untyped
    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = FETCH_WAIT_MS
        return consumer


class _Consumer(driver.Consumer):  # type: ignore[misc]  # faust is untyped
    def _new_consumer_thread(self) -> _Thread:
        return _Thread(self, loop=self.loop, beacon=self.beacon)

    def ack(self, message: Any) -> bool:
        """Do nothing: Faust acks what it skips during a rebalance, and would then commit past what nobody has read.

        Source: faust/streams.py 0.15.3, `_py_aiter`, the branch of `skipped_value`.
        """
        return False

    def acknowledge(self, message: Any) -> None:
        """Mark a message as done, unless its partition has moved since it came: then it is read again."""
        if message.generation_id == self.app.consumer_generation_id:
            super().ack(message)


class _Transport(driver.Transport):  # type: ignore[misc]  # faust is untyped
    Consumer = _Consumer


def _credentials(connection: Connection) -> Any:
    context: ssl.SSLContext | None = connection.ssl_context() if connection.encrypted else None
    if connection.authenticated:
        return faust.SASLCredentials(
            username=connection.sasl_username,
            password=connection.sasl_password,
            mechanism=connection.sasl_mechanism,
            ssl_context=context,
        )
    return faust.SSLCredentials(context) if context else None
