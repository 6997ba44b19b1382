"""The tools that agents call, as functions of a store: text for the agent, structured content, the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memory.mcp.format import answer_text
from memory.model import Answer, Depth, Hit, Mode, Rerank, Scope, SearchRequest
from memory.search.answer import outcome
from memory.store import SearchStore
from streams.outcome import to_fields, with_sidecar
from streams.recall import RecallOutcome

MAX_LIMIT = 20


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool answers."""

    text: str
    """For the agent; search tools end it with the sidecar line."""
    structured: dict[str, Any]
    outcome: RecallOutcome | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The tools over one store."""

    store: SearchStore
    rerank: Rerank = "off"
    estimator: Literal["spec", "calibrated"] = "spec"
    default_mode: Mode = "lexical"

    def search_evidence(
        self,
        query: str,
        *,
        mode: Mode | None = None,
        scope: Scope = "all",
        depth: Depth = "summary",
        kinds: tuple[str, ...] = (),
        limit: int = 5,
        **filters: Any,
    ) -> Reply:
        """Search the store; `filters` are further fields of the request."""
        request = SearchRequest(
            query=query,
            mode=mode or self.default_mode,
            scope=scope,
            depth=depth,
            kinds=kinds,
            limit=max(1, min(limit, MAX_LIMIT)),
            rerank=self.rerank,
            estimator=self.estimator,
            **filters,
        )
        answer = self.store.search(request)
        return search_reply(answer)


def search_reply(answer: Answer) -> Reply:
    """Return an answer as a tool's reply."""
    said = outcome(answer)
    return Reply(with_sidecar(answer_text(answer), said), structured(answer), said, is_error=answer.failed)


def structured(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain JSON data: the sidecar, the results, and the state of the index."""
    coverage = answer.coverage
    return {
        "recall_meta": to_fields(outcome(answer)),
        "results": [_result(hit) for hit in answer.hits],
        "confident": answer.confident,
        "tier": answer.tier,
        "total": answer.total,
        "findings": list(answer.findings),
        "truncated_terms": answer.truncated_terms,
        "elapsed_ms": round(answer.elapsed_ms, 3),
        "index_age_seconds": answer.index_age_seconds,
        "index": None
        if coverage is None
        else {
            "documents": coverage.documents,
            "passages": coverage.passages,
            "embedded": coverage.embedded,
            "to_embed": coverage.to_embed,
            "generation": coverage.generation,
        },
    }


def trajectory_item(
    *, trajectory_id: str, verified: bool, files_read: Sequence[str], files_modified: Sequence[str], title: str = ""
) -> dict[str, Any]:
    """Return a trajectory as a listing shows it: what it came to, with counts instead of lists."""
    return {
        "id": trajectory_id,
        "kind": "trajectory",
        "title": title,
        "verified": verified,
        "files_read": len(files_read),
        "files_modified": len(files_modified),
    }


def _result(hit: Hit) -> dict[str, Any]:
    return {
        "anchor": hit.anchor,
        "rank": hit.rank,
        "kind": hit.kind,
        "title": hit.title,
        "path": hit.file,
        "status": hit.status,
        "authority": hit.authority,
        "updated_at": None if hit.updated_at is None else hit.updated_at.isoformat(),
        "score": hit.score,
        "score_parts": dict(hit.score_parts),
        "tier": hit.tier,
        "rank_without_prior": hit.rank_without_prior,
        "needs_review": list(hit.needs_review),
        "snippet": hit.snippet,
        "reason": hit.reason,
        "notices": list(hit.notices),
        "open": dict(hit.drilldown) if hit.drilldown is not None else None,
    }
