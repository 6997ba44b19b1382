"""Search over HTTP: the answers that agents get from the search tool, ranked under the same switch."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import FastAPI, HTTPException, Query, Response

from memory.mcp.tools import MAX_LIMIT, Toolbox
from memory.model import Depth, Mode, Scope


def add_evidence(app: FastAPI, tools: Toolbox) -> None:
    """Add `/api/evidence/search` to an application."""

    @app.get("/api/evidence/search", summary="Search, each result with the waterfall of its score")
    def search(
        q: Annotated[str, Query(min_length=1, max_length=2000, description="Words, an id, or a question.")],
        mode: Mode | None = None,
        scope: Scope = "all",
        depth: Depth = "summary",
        kind: Annotated[list[str] | None, Query(description="Only these kinds.")] = None,
        date_from: str | None = None,
        date_to: str | None = None,
        limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 10,
    ) -> Response:
        fields: dict[str, Any] = {"scope": scope, "depth": depth, "kinds": tuple(kind or ())}
        try:
            reply = tools.search_evidence(q, mode=mode, limit=limit, date_from=date_from, date_to=date_to, **fields)
        except ValueError as error:
            raise HTTPException(422, str(error)) from None
        return Response(
            msgspec.json.encode(reply.sealed().structured),
            status_code=503 if reply.is_error else 200,
            media_type="application/json",
        )
