"""The API as one FastAPI application: measures, anchors, searches, diagnosis; read only.

Every answer is built from the warehouse as it is published at that moment. Bound to a loopback address it asks for
nothing; anywhere else every request needs the bearer token.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from pydantic import AwareDatetime

from hub.api.evidence import add_evidence
from memory.mcp.tools import Toolbox
from streams.clock import Clock, SystemClock
from streams.errors import ConfigError
from warehouse import anchors, publisher
from warehouse.measures import SLICES
from warehouse.storage.store import LocalStorage
from warehouse.store import Warehouse

Days = Annotated[int, Query(ge=1, le=3650, description="Days before the as-of instant.")]
AsOf = Annotated[AwareDatetime | None, Query(description="Instant to look back from; now by default.")]
Surface = Annotated[Literal["memory", "code_search", "web_search", "all"], Query(description="Where was searched.")]


def create(
    warehouse: Warehouse,
    *,
    token: str = "",
    host: str = "127.0.0.1",
    clock: Clock | None = None,
    tools: Toolbox | None = None,
) -> FastAPI:
    """Return the application; with `tools` it also searches.

    Raises:
        ConfigError: when it is to be bound to an address that others reach, without a token.
    """
    if not token and not is_loopback(host):
        raise ConfigError(f"TRODDEN_TOKEN: expected a token to listen on {host}, got none")
    now = (clock or SystemClock()).now
    # FastAPI's own pages of the contract load scripts from a CDN; /openapi.json opens in any viewer without one.
    app = FastAPI(
        title="Trodden",
        description=__doc__ or "",
        dependencies=[Depends(_guard(token))],
        docs_url=None,
        redoc_url=None,
    )
    _add_measures(app, warehouse, now)
    _add_lists(app, warehouse, now)
    if tools is not None:
        add_evidence(app, tools)
    return app


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _guard(token: str) -> Callable[[Request], None]:
    def check(request: Request) -> None:
        """Refuse a request without the token, where one is set."""
        given = request.headers.get("authorization", "")
        if token and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            raise HTTPException(401, "expected the bearer token of TRODDEN_TOKEN", {"WWW-Authenticate": "Bearer"})

    return check


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


def _surface(name: str) -> str | None:
    return None if name == "all" else name


def _add_measures(app: FastAPI, warehouse: Warehouse, now: Callable[[], datetime]) -> None:
    @app.get("/api/recall/metrics", summary="Figures of a time window, each with n, interval, as-of and state")
    def metrics(
        days: Days = 30,
        agent: str | None = None,
        runtime: str | None = None,
        tool: str | None = None,
        surface: Surface = "memory",
        by: Annotated[str, Query(description=f"Split by: {', '.join(SLICES)}.")] = "all",
        base: Literal["known", "exposed"] = "known",
        credit: Literal["all", "clean"] = "all",
        name: Annotated[list[str] | None, Query(description="Only these measures.")] = None,
        refresh: Annotated[bool, Query(description="Publish the catalog anew first.")] = False,
        as_of: AsOf = None,
    ) -> Response:
        if refresh:
            storage = LocalStorage(warehouse.root / publisher.TABLES_FOLDER)
            publisher.publish(storage, warehouse.catalog)
        at = as_of or now()
        try:
            values = warehouse.measures(
                at,
                days,
                agent=agent,
                runtime=runtime,
                tool=tool,
                surface=_surface(surface),
                base=base,
                credit=credit,
                slice_by=by,
                names=name,
            )
        except ValueError as error:
            raise HTTPException(422, str(error)) from None
        return _json({"as_of": at, "days": days, "surface": surface, "by": by, "measures": values})

    @app.get("/api/recall/diagnosis", summary="Why did it drop: zero hits first, then attribution, then ranking")
    def diagnosis(days: Days = 7, surface: Surface = "memory", as_of: AsOf = None) -> Response:
        return _json(warehouse.diagnose(as_of or now(), days, surface=_surface(surface)))


def _add_lists(app: FastAPI, warehouse: Warehouse, now: Callable[[], datetime]) -> None:
    @app.get("/api/recall/anchors", summary="Documents by consumption, or by how long nobody opened them")
    def anchor_list(
        order: Literal["popular", "dormant"] = "popular",
        days: Days = 30,
        threshold: Annotated[int, Query(ge=0, description="Days without consumption (dormant).")] = 90,
        surface: Surface = "memory",
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        offset: Annotated[int, Query(ge=0)] = 0,
        as_of: AsOf = None,
    ) -> Response:
        at = as_of or now()
        found = warehouse.anchors(at, days, surface=_surface(surface))
        ordered = anchors.popular(found) if order == "popular" else anchors.dormant(found, threshold=threshold)
        page = ordered[offset : offset + limit]
        return _json({"as_of": at, "order": order, "total": len(ordered), "offset": offset, "anchors": page})

    @app.get("/api/recall/events", summary="Searches with their candidates and consumptions, newest first")
    def events(
        days: Days = 7,
        agent: str | None = None,
        tool: str | None = None,
        surface: Surface = "all",
        limit: Annotated[int, Query(ge=1, le=500)] = 50,
        offset: Annotated[int, Query(ge=0)] = 0,
        as_of: AsOf = None,
    ) -> Response:
        at = (as_of or now()).astimezone(UTC)
        rows = warehouse.recall_events(
            since=at - timedelta(days=days),
            until=at,
            agent=agent,
            tool=tool,
            surface=_surface(surface),
            limit=limit + 1,
            offset=offset,
        )
        more = offset + limit if len(rows) > limit else None
        return _json({"as_of": at, "events": rows[:limit], "next_offset": more})
