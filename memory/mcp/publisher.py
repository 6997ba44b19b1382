"""Publishes the calls of an MCP server: first to a spool file, then to the log when a broker is there."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import msgspec

from streams import codec
from streams.errors import TransientError
from streams.events import ToolCalled
from streams.log import Emitter
from streams.topics import MAX_EVENTS_PER_MESSAGE, TOOL_EVENTS

RETRY_S = (1.0, 5.0, 15.0, 60.0)
"""Waits between attempts while no broker answers."""

Connect = Callable[[], Awaitable[Emitter | None]]
"""Returns a connected emitter, or null when there is no broker to try."""

_encode = msgspec.json.Encoder().encode


class CallPublisher:
    """`put` writes an event to the spool and returns; a task of its own brings it to the log.

    What the process could not send stays in the spool and is sent by the next server on the same folder, or by
    `trodden import`. Sending twice is harmless: the ids are the same.
    """

    def __init__(self, spool: Path, name: str, connect: Connect) -> None:
        """Open the spool file of this process."""
        spool.mkdir(parents=True, exist_ok=True)
        self._spool = spool
        self._path = spool / f"{name}.ndjson"
        self._file: IO[bytes] = open(self._path, "ab")  # noqa: SIM115 - closed in __aexit__
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._connect = connect
        self._pending: list[ToolCalled] = []
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._emitter: Emitter | None = None

    def put(self, event: ToolCalled) -> None:
        """Spool an event.

        Raises:
            OSError: when the disk refuses it.
        """
        self._file.write(_encode(event) + b"\n")
        self._file.flush()
        self._pending.append(event)
        self._wake.set()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        with contextlib.suppress(TransientError, asyncio.TimeoutError):
            await asyncio.wait_for(self._send(), timeout=2.0)
        if self._emitter is not None:
            await self._emitter.close()
        if not self._pending:
            self._path.unlink(missing_ok=True)
        self._file.close()

    async def _run(self) -> None:
        attempt = 0
        while True:
            try:
                await self._send()
                await self._send_leftovers()
                attempt = 0
                await self._wake.wait()
                self._wake.clear()
            except (TransientError, OSError):
                await self._forget()
                await asyncio.sleep(RETRY_S[min(attempt, len(RETRY_S) - 1)])
                attempt += 1

    async def _send(self) -> None:
        while self._pending:
            emitter = await self._connected()
            if emitter is None:
                return
            batch = self._pending[:MAX_EVENTS_PER_MESSAGE]
            await _emit(emitter, batch)
            del self._pending[: len(batch)]

    async def _send_leftovers(self) -> None:
        """Send what earlier servers left behind; a file that is held by a living one is not touched."""
        for path in sorted(self._spool.glob("*.ndjson")):
            if path == self._path or (emitter := await self._connected()) is None:
                continue
            with _held(path) as file:
                if file is None:
                    continue
                events = [event for line in file if isinstance(event := codec.decode_line(line), ToolCalled)]
                for start in range(0, len(events), MAX_EVENTS_PER_MESSAGE):
                    await _emit(emitter, events[start : start + MAX_EVENTS_PER_MESSAGE])
                path.unlink(missing_ok=True)

    async def _connected(self) -> Emitter | None:
        if self._emitter is None:
            self._emitter = await self._connect()
        return self._emitter

    async def _forget(self) -> None:
        """Drop a connection that failed; the next attempt makes another."""
        if self._emitter is not None:
            with contextlib.suppress(Exception):
                await self._emitter.close()
            self._emitter = None


async def _emit(emitter: Emitter, events: Sequence[ToolCalled]) -> None:
    sessions: dict[str, list[ToolCalled]] = {}
    for event in events:
        sessions.setdefault(event.root_session_id, []).append(event)
    messages: list[tuple[str, bytes | None]] = [
        (root, value) for root, own in sessions.items() for value in codec.batches(own)
    ]
    await emitter.emit_all(TOOL_EVENTS.name, messages)


@contextlib.contextmanager
def _held(path: Path) -> Iterator[IO[bytes] | None]:
    """Give the file with its lock, or null when another process holds it."""
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except FileNotFoundError:
        yield None
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        yield file
