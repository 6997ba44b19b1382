"""The HTTP collector: takes hooks, traces and events, keeps them on disk, answers at once, and publishes behind.

What it answered 2xx to is on disk and will reach the log, whatever the broker does meanwhile. A hook gets an empty
body, always: any other one could change what the agent does.
"""

from __future__ import annotations

import asyncio
import hmac
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import FastAPI, Request, Response

from producers.client import Publisher
from producers.spool import backoff_s, translated
from producers.store import Spool
from streams.clock import Clock
from streams.errors import StorageUnavailable, TransientError


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One way in."""

    path: str
    adapter: str
    max_bytes: int
    """Largest body, unpacked."""
    answer: bytes = b""
    """What a sender expects; empty for hooks."""


_MIB = 1024 * 1024

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(path="/hooks/claude", adapter="claude-hooks", max_bytes=16 * _MIB),
    Endpoint(path="/hooks/codex", adapter="codex-hooks", max_bytes=16 * _MIB),
    Endpoint(path="/v1/traces", adapter="otlp", max_bytes=64 * _MIB, answer=b"{}"),
    Endpoint(path="/v1/logs", adapter="otlp", max_bytes=64 * _MIB, answer=b"{}"),
    Endpoint(path="/v1/events", adapter="native", max_bytes=16 * _MIB),
)
"""Everything the collector listens to."""

DRAIN_PAYLOADS = 500
"""Payloads that are translated and published together."""

IDLE_S = 1.0
"""How long the drain sleeps when nothing wakes it."""


class TooLarge(ValueError):
    """A body is larger than its endpoint takes."""


def build(spool: Spool, clock: Clock, *, token: str = "", wake: asyncio.Event | None = None) -> FastAPI:
    """Return the collector's application.

    Args:
        spool: Where payloads wait.
        clock: Stamps the time of receipt: hooks carry none.
        token: Bearer token that every sender must show; empty asks for none, which only suits a loopback address.
        wake: Set whenever something came in, for the drain.
    """
    app = FastAPI(title="Trodden collector", docs_url=None, redoc_url=None, openapi_url=None)
    for endpoint in ENDPOINTS:
        app.add_api_route(endpoint.path, _receiver(endpoint, spool, clock, token, wake), methods=["POST"])

    @app.get("/healthz")
    async def healthz() -> dict[str, int]:
        return {"waiting_bytes": spool.size_bytes}

    return app


def _receiver(
    endpoint: Endpoint, spool: Spool, clock: Clock, token: str, wake: asyncio.Event | None
) -> Callable[[Request], Awaitable[Response]]:
    async def receive(request: Request) -> Response:
        if token and not hmac.compare_digest(request.headers.get("authorization", ""), f"Bearer {token}"):
            return Response(status_code=401)
        if "protobuf" in request.headers.get("content-type", ""):
            return Response(status_code=415)
        try:
            packed = request.headers.get("content-encoding", "") == "gzip"
            body = await _body(request, endpoint.max_bytes, packed=packed)
            if body.strip():
                spool.put(adapter=endpoint.adapter, endpoint=endpoint.path, received_at=clock.now(), body=body)
        except TooLarge:
            return Response(status_code=413)
        except zlib.error:
            return Response(status_code=400)
        except StorageUnavailable:
            return Response(status_code=503, headers={"Retry-After": "5"})
        if wake is not None:
            wake.set()
        media = "application/json" if endpoint.answer else None
        return Response(content=endpoint.answer, status_code=200, media_type=media)

    return receive


async def _body(request: Request, limit: int, *, packed: bool) -> bytes:
    """Read a body in pieces, unpacked on the way, so that a small one can never become a huge one."""
    unpack = zlib.decompressobj(wbits=31) if packed else None
    parts: list[bytes] = []
    size = 0
    async for piece in request.stream():
        part = unpack.decompress(piece, limit - size + 1) if unpack is not None else piece
        size += len(part)
        if size > limit or (unpack is not None and unpack.unconsumed_tail):
            raise TooLarge
        parts.append(part)
    return b"".join(parts)


async def drain_once(spool: Spool, publisher: Publisher) -> int:
    """Publish the oldest payloads and forget them; return how many.

    Raises:
        BrokerUnavailable: when the broker is away; everything stays.
    """
    payloads = spool.peek(DRAIN_PAYLOADS)
    if not payloads:
        return 0
    drained = translated(payloads)
    await publisher.publish(drained.events)
    for adapter, problem in drained.problems:
        await publisher.dead_letter([problem], adapter=adapter)
    spool.remove(payloads)
    return len(payloads)


async def drain(spool: Spool, publisher: Publisher, *, stop: asyncio.Event, wake: asyncio.Event) -> None:
    """Publish what comes in until `stop` is set; while the broker is away, wait longer each time."""
    failures = 0
    while not stop.is_set():
        try:
            done = await drain_once(spool, publisher)
        except TransientError:
            failures += 1
            await _pause(stop, backoff_s(failures))
            continue
        failures = 0
        if done < DRAIN_PAYLOADS:
            wake.clear()
            if not spool.size_bytes:
                await _pause_or(wake, stop)


async def _pause(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


async def _pause_or(wake: asyncio.Event, stop: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(wake.wait()), asyncio.ensure_future(stop.wait())]
    try:
        await asyncio.wait(waits, timeout=IDLE_S, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
