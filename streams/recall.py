"""What a search showed, what was consumed of it, and what an invocation came to.

`RecallOutcome` is what a search tool says of itself (the sidecar); `RecallEvent` and `TaskTrajectory` are what
the correlator concludes; `AnchorPrior` is what ranking publishes back. Ranks are 1-based; a consumption outside
the shown pool has rank null. A figure that nobody measured is null, never 0.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

import msgspec

RECALL_SCHEMA_VERSION = 1
"""Version of the sidecar, of `RecallEvent`, `TaskTrajectory` and `AnchorPrior`."""


class DocRef(msgspec.Struct, frozen=True, kw_only=True, tag="doc", tag_field="kind", gc=False):
    """A document: by path where one is known, else by anchor."""

    path: str = ""
    anchor: str = ""


class ThreadRef(msgspec.Struct, frozen=True, kw_only=True, tag="thread", tag_field="kind", gc=False):
    """A conversation thread."""

    thread_id: str


class SessionRef(msgspec.Struct, frozen=True, kw_only=True, tag="session", tag_field="kind", gc=False):
    """A runtime's session."""

    session_id: str


class InvocationRef(msgspec.Struct, frozen=True, kw_only=True, tag="invocation", tag_field="kind", gc=False):
    """One invocation of a session."""

    session_id: str
    invocation_id: str


class PassageRef(msgspec.Struct, frozen=True, kw_only=True, tag="passage", tag_field="kind", gc=False):
    """A passage of a document (path, lines) or of a thread (message)."""

    passage_id: str
    path: str = ""
    start_line: int | None = None
    end_line: int | None = None
    thread_id: str = ""
    message_id: str = ""


class UrlRef(msgspec.Struct, frozen=True, kw_only=True, tag="url", tag_field="kind", gc=False):
    """A page on the web, or any resource with a URI."""

    url: str


TargetRef = DocRef | ThreadRef | SessionRef | InvocationRef | PassageRef | UrlRef
"""What a candidate opens."""


class ResultStatus(StrEnum):
    """How a search's answer came about; a count is known exactly for the first two."""

    COUNTED = "counted"
    NO_RESULTS = "no_results"
    ERROR = "error"
    TIMEOUT = "timeout"
    OVERFLOW = "overflow"
    PARSER_MISS = "parser_miss"
    RESULT_UNMERGED = "result_unmerged"
    LEGACY_UNKNOWN = "legacy_unknown"


class Candidate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One result shown to the agent."""

    anchor: str
    rank: int
    """1-based position in the list as shown."""
    target: TargetRef
    doc_kind: str | None = None
    title: str = ""
    score: dict[str, float] = {}
    """Score parts by name; they sum to `total` where that stands."""
    propensity: float | None = None
    """Probability in (0, 1] that the logging policy put this candidate on this slot."""
    team: str | None = None
    """Interleaving team that placed it: `a`, `b`, or null."""


class PreviewItem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A glimpse of one result, for an answer too large to show."""

    title: str = ""
    anchor: str = ""
    snippet: str = ""


class RecallOutcome(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False
):
    """What a search tool says of one search: the machine-readable sidecar."""

    schema_version: int = RECALL_SCHEMA_VERSION
    result_status: ResultStatus
    result_count: int | None = None
    """Present exactly for `counted` (>= 1) and `no_results` (0)."""
    query: str = ""
    surface: str = "memory"
    """`memory`, `code_search` or `web_search`."""
    mode: str | None = None
    effective_mode: str | None = None
    degraded: bool = False
    degraded_reason: str | None = None
    scope: str | None = None
    depth: str | None = None
    intent: str | None = None
    """`coverage` for coverage searches, else null."""
    candidates: tuple[Candidate, ...] = ()
    truncated: bool = False
    resolved_anchor: str | None = None
    """graph_resolve only: the anchor it resolved to exactly; null when it offered candidates."""
    base_order: tuple[str, ...] | None = None
    """Anchors in the order without the reranker, when one ran in shadow or on."""
    reranked_order: tuple[str, ...] | None = None
    other_order: tuple[str, ...] | None = None
    """What the estimator that does not rank would have made of it: the other one runs in shadow."""
    ranker_id: str | None = None
    ranker_mode: Literal["off", "shadow", "on", "interleave"] | None = None
    priors_as_of: datetime | None = None
    result_set_id: str | None = None
    preview_items: tuple[PreviewItem, ...] = ()
    """At most five; an `overflow` needs one of them or an `artifact_ref`."""
    artifact_ref: str | None = None
    """Where the whole answer lies when it was too large to show."""
    read_next_hint: str | None = None


class Grade(StrEnum):
    """How a consumption is known: A runtime, B later call, C shell or patch, D text, E across contexts."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"
    E = "E"


class Consumption(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A later successful call that opened a candidate, or an indexed document no search had shown."""

    anchor: str
    rank: int | None
    """1-based rank of the candidate; null when the target was in no shown list."""
    target: TargetRef
    tool_use_id: str
    method: str
    """Canonical tool name of the consuming call."""
    consumed_at: datetime
    distance: int
    """Tool calls of the same agent from the search to this call; the next call has distance 1."""
    elapsed_ms: int
    """From the search's start, clamped at 0."""
    rule: str
    """The row of the target-match table that decided."""
    grade: Grade = Grade.B
    depth: Literal["read", "edit"] = "read"
    """`edit` when the target was changed as well."""
    credit: float = 1.0
    """1/m when the call matches m searches, in (0, 1]."""
    dwell_ms: int | None = None
    """End of the call to the start of the agent's next call; null when there is none."""
    already_seen: bool = False
    """The target had been opened before the search, or was named in the prompt."""
    new_content: bool = True
    context_epoch: int = 0
    start_line: int | None = None
    end_line: int | None = None


class RecallEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One search and what came of it (key: recall_id). A higher revision replaces a lower one whole."""

    recall_id: str
    """uuid5 of invocation and tool_use_id: the same search has the same id in every replay."""
    revision: int
    """Rises with every event that this conclusion rests on; a function of their set, not of their arrival."""
    phase: Literal["open", "changed", "final"]
    closed_by: Literal["window", "invocation_end", "idle"] | None = None
    occurred_at: datetime
    ended_at: datetime | None = None
    agent_id: str
    runtime: str
    invocation_id: str
    session_id: str
    root_session_id: str
    thread_id: str = ""
    tool: str
    tool_use_id: str
    surface: str
    query: str
    mode: str | None = None
    effective_mode: str | None = None
    scope: str | None = None
    depth: str | None = None
    intent: str | None = None
    degraded: bool = False
    result_status: ResultStatus
    result_count: int | None = None
    candidates: tuple[Candidate, ...] = ()
    consumed: tuple[Consumption, ...] = ()
    """Consumptions in event order; those outside the pool have rank null."""
    clicked: tuple[Consumption, ...] = ()
    """Calls that named a candidate and failed: clicks, never consumptions."""
    bundle_id: str = ""
    """Searches of one bundle were made before anything was opened."""
    clarity: Literal["clean", "ambiguous"] | None = None
    """Null without a consumption; `ambiguous` when a consumption is shared with another search."""
    reformulated: bool = False
    abandoned: bool = False
    zero_hit: bool = False
    fell_back_to_grep: bool = False
    next_graph_resolve_after_read: bool = False
    next_search_distance: int | None = None
    """Calls to the agent's next search on the same surface within the window; null when there is none."""
    calls_in_window: int = 0
    tokens_result: int | None = None
    tokens_query: int | None = None
    tokens_quality: Literal["native", "estimated", "unknown"] = "unknown"
    window_policy: str = "compound-v1"
    context_epoch: int = 0
    clock_skew_ms: int = 0
    """Largest backward step of event time that was clamped; 0 when none."""
    base_order: tuple[str, ...] | None = None
    reranked_order: tuple[str, ...] | None = None
    other_order: tuple[str, ...] | None = None
    """What the estimator that does not rank would have made of it: the other one runs in shadow."""
    ranker_id: str | None = None
    ranker_mode: str | None = None
    schema_version: int = RECALL_SCHEMA_VERSION


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One step of a trajectory, in event order."""

    kind: Literal["search", "read", "edit", "verify", "other"]
    at: datetime
    tool: str
    tool_use_id: str
    target: str = ""
    """Path, anchor, query or command that the step was about."""
    recall_id: str | None = None
    """The search it is, or the search it consumed from."""


class VerificationSignal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One reason to believe, or to doubt, that the work was accepted."""

    signal: str
    actor: str
    at: datetime
    target: str = ""
    evidence: str = ""
    verifies: bool = False


class TaskTrajectory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One invocation's way from its searches to its work (key: trajectory_id)."""

    trajectory_id: str
    revision: int
    phase: Literal["open", "changed", "final"]
    invocation_id: str
    session_id: str
    root_session_id: str
    thread_id: str = ""
    agent_id: str
    runtime: str
    started_at: datetime
    ended_at: datetime
    duration_ms: int
    task_context: str = ""
    """The prompt where known, else the distinct queries in order."""
    recall_ids: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    files_read: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    calls: int = 0
    tokens_output: int | None = None
    tokens_search: int | None = None
    """Tokens of all search results shown; null when none was measured."""
    output_verified: bool = False
    signals: tuple[VerificationSignal, ...] = ()
    schema_version: int = RECALL_SCHEMA_VERSION


class SpecPrior(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The specification's consumption prior with everything that made it."""

    prior: float
    branch: Literal["constitutional", "grace", "cold_start", "low_sample", "full"]
    shrunk_ctr: float
    mean_ctr_kind: float
    recency_factor: float
    days_since_consumed: float | None = None


class CalibratedPrior(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The rank-aware estimate: consumptions against those expected at the ranks shown."""

    ratio: float
    """Posterior mean of observed to expected; exactly 1 without evidence."""
    low: float
    high: float
    """5 % and 95 % posterior quantiles of the ratio."""
    z: float
    """Log of the bound that excludes 1, else 0."""
    expected: float
    observed: float
    strength: float
    """Shrinkage pseudo-count of the kind."""


class Walked(msgspec.Struct, frozen=True, gc=False):
    """One way that an agent took through the graph, from one document to the next."""

    target: str
    at: datetime
    """When the target was opened."""


class AnchorPrior(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What consumption says of one anchor as of one instant (key: anchor)."""

    anchor: str
    doc_kind: str
    as_of: datetime
    run_id: str
    exposures: int
    """Exposures in the 30 days before `as_of`."""
    consumptions: float
    """Credited consumptions in the same days."""
    last_consumed_at: datetime | None = None
    spec: SpecPrior
    calibrated: CalibratedPrior | None = None
    walked: tuple[Walked, ...] = ()
    """Where agents went from here in the 30 days before `as_of`, each target once an invocation, by time."""
    schema_version: int = RECALL_SCHEMA_VERSION
