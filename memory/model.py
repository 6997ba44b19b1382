"""The values of the search store: documents and passages going in, requests, hits and answers coming out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from ranking.explain import Explanation
from ranking.rerank import Reranked
from ranking.serve import Served
from streams.recall import TargetRef

Mode = Literal["lexical", "semantic", "hybrid"]
Scope = Literal["docs", "memory", "threads", "sessions", "trajectories", "all"]
Depth = Literal["summary", "raw"]
Rerank = Literal["off", "shadow", "on"]

DEMOTED_STATUSES = frozenset({"invalidated", "superseded", "drifted", "stale", "historical", "retired"})
"""Statuses of documents that stand behind live ones."""

STATUSES = frozenset({"active", "done", "archived", "review"}) | DEMOTED_STATUSES
"""Statuses known to search; any other word in a file reads as `active`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A piece of a document that search can show by itself."""

    passage_id: str
    """Made of the content: an edit above it does not change it."""
    text: str
    heading_path: tuple[str, ...] = ()
    start_line: int = 0
    """1-based first line in the file; 0 where the source has no lines."""
    end_line: int = 0
    position: int = 0
    speaker: str = ""
    """Who said it, for passages of a conversation."""
    created_at: datetime | None = None
    thread_id: str = ""
    message_id: str = ""
    session_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Edge:
    """One statement about two documents: `source` says `relation` of `target`."""

    source: str
    relation: str
    target: str
    provenance: str = "frontmatter"
    """Who says so: `frontmatter`, `content` or `manual`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One retrievable document as its source gives it."""

    anchor: str
    title: str
    kind: str = "plan"
    status: str = "active"
    summary: str = ""
    keywords: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    path: str = ""
    """Relative to the root, POSIX; empty for documents that are no files."""
    authority: str = "observed"
    updated_at: datetime | None = None
    """When its content last changed: from the frontmatter, else git, else the file's mtime."""
    supersedes: tuple[str, ...] = ()
    superseded_by: str | None = None
    aliases: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    """Anchors that its frontmatter names as related."""
    links: tuple[Edge, ...] = ()
    """Edges found in its text; targets of document links are still paths."""
    passages: tuple[Passage, ...] = ()
    is_archived: bool = False
    text_hash: str = ""
    """sha256 over everything that the index would store of it."""
    problems: tuple[str, ...] = ()
    """What could not be read in it, in words."""
    source_ids: tuple[str, ...] = ()
    """Threads and messages that it came from."""
    materialized_from: str | None = None
    tier: str = "authoritative"
    """authoritative, derived or soft_clue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """One question to the store."""

    query: str
    mode: Mode = "lexical"
    scope: Scope = "all"
    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    """Any of these, compared whole and without case."""
    date_from: str | datetime | None = None
    date_to: str | datetime | None = None
    """A date without a time means the whole day."""
    thread_id: str | None = None
    depth: Depth = "summary"
    context_window: int = 0
    """Neighbouring passages to show on each side of a hit, at depth `raw`."""
    limit: int = 10
    explain: bool = False
    rerank: Rerank = "off"
    estimator: Literal["spec", "calibrated"] = "spec"
    interleave: bool = False
    """Show a draft of the base and the reranked order, so that what is opened votes for one of them."""
    explore: float = 0.0
    """Share of searches that give rank 4 to a document hardly ever shown."""
    intent: Literal["coverage"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageHit:
    """A passage that matched, with its neighbours where asked for."""

    passage: Passage
    score: float
    context: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result."""

    anchor: str
    rank: int
    """1-based."""
    kind: str
    title: str
    path: str
    """Relative to the root that was indexed."""
    file: str
    """Absolute; empty for documents that are no files."""
    status: str
    authority: str
    updated_at: datetime | None
    snippet: str
    target: TargetRef
    tier: str
    """The step of relaxation that found it: pin, and, min_match, strong, or, semantic."""
    reason: str
    """In words: why it is here."""
    score: float
    """On the fusion's scale; compares results of one search only."""
    score_parts: Mapping[str, float] = field(default_factory=dict)
    superseded_by: str | None = None
    successor: str | None = None
    """Newest document of the chain that replaced it."""
    notices: tuple[str, ...] = ()
    needs_review: tuple[str, ...] = ()
    passages: tuple[PassageHit, ...] = ()
    drilldown: Mapping[str, Any] | None = None
    explanation: Explanation | None = None
    """How it came to its place; null when no reranker decided it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What the index held when it answered."""

    documents: int
    passages: int
    embedded: int
    to_embed: int
    generation: int
    indexed_at: datetime | None

    @property
    def embedded_share(self) -> float | None:
        """Share of what should have a vector that has one; null when nothing should."""
        return self.embedded / self.to_embed if self.to_embed else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the store says to one request."""

    request: SearchRequest
    hits: tuple[Hit, ...]
    effective_mode: Mode
    degraded: bool = False
    degraded_reason: str | None = None
    tier: str | None = None
    """The tightest step that found something; null for an empty answer."""
    confident: bool = True
    """False when nothing fits the query well: the hits are then guesses."""
    failed: bool = False
    total: int = 0
    """Documents that matched before the cut, at least."""
    truncated_terms: int = 0
    coverage: Coverage | None = None
    index_age_seconds: float | None = None
    elapsed_ms: float = 0.0
    reranked: Reranked | None = None
    served: Served | None = None
    """Which order was shown, by which chances; null when no reranker ran."""
    priors_as_of: datetime | None = None
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """What became of one file of the walk."""

    path: str
    outcome: Literal["indexed", "unchanged", "skipped", "failed"]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What an index run did."""

    root: str
    generation: int
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0
    documents: int = 0
    passages: int = 0
    files: tuple[FileReport, ...] = ()
    collisions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    causes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Documents to look at again, each with the changed documents that it depends on."""
    recovered: str | None = None
    """What was wrong with the old index and where it was moved, when it had to be replaced."""
    elapsed_ms: float = 0.0
