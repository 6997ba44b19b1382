"""The catalogue of Prometheus metrics: one entry each, used by every role, documented and drawn from here.

A value that nobody has measured is absent, never 0: a labelled metric shows no line before its first use, and a
gauge without labels is only made known to the registry by its first `set`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_Kind = TypeVar("_Kind", Counter, Gauge, Histogram)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One entry of the catalogue."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


EVENTS = Metric(
    name="trodden_events_total",
    kind="counter",
    help="Events read, by the adapter that made them and what became of them (used, dead).",
    labels=("adapter", "outcome"),
)
REVISIONS = Metric(
    name="trodden_revisions_total",
    kind="counter",
    help="Conclusions published, by kind (recall, trajectory) and phase (open, changed, final).",
    labels=("kind", "phase"),
)
DEAD_LETTERS = Metric(
    name="trodden_dead_letters_total", kind="counter", help="Dead letters, by stage.", labels=("stage",)
)
LAG = Metric(
    name="trodden_lag_seconds",
    kind="gauge",
    help="Age of the newest record taken in when it was taken in, by stage (correlate, land) and partition.",
    labels=("stage", "partition"),
)
WATERMARK_AGE = Metric(
    name="trodden_watermark_age_seconds",
    kind="gauge",
    help="Present minus the event time that a partition has reached.",
    labels=("partition",),
)
OPEN_INVOCATIONS = Metric(
    name="trodden_open_invocations",
    kind="gauge",
    help="Invocations whose conclusions may still change, by partition.",
    labels=("partition",),
)
HELD_MESSAGES = Metric(
    name="trodden_held_messages",
    kind="gauge",
    help="Messages taken in and not yet acked, by partition.",
    labels=("partition",),
)
FLUSH_SECONDS = Metric(
    name="trodden_flush_seconds",
    kind="histogram",
    help="Time to conclude and deliver what had changed.",
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
LANDED_ROWS = Metric(name="trodden_landed_rows_total", kind="counter", help="Rows landed as Parquet.")
LANDED_FILES = Metric(name="trodden_landed_files_total", kind="counter", help="Parquet files landed.")
PRIORS = Metric(name="trodden_priors", kind="gauge", help="Anchors with a prior in the last publication.")
PRIORS_AS_OF = Metric(
    name="trodden_priors_as_of_timestamp_seconds",
    kind="gauge",
    help="Instant, in Unix seconds, that the last published priors look back from.",
)
LOOP = Metric(
    name="trodden_loop_ratio",
    kind="gauge",
    help="Whether the loop feeds on itself, over 30 days, by monitor: gini, top_10_share, never_exposed_share, "
    "rank_1_persistence, prior_rank_correlation, moved_up_consumption_share.",
    labels=("monitor",),
)
GATE = Metric(
    name="trodden_gate_verdict",
    kind="gauge",
    help="1 for the last verdict on the ranker of the settings: ON, ROLLBACK, FUTILE or INSUFFICIENT_EVIDENCE.",
    labels=("verdict",),
)
FRICTION = Metric(
    name="trodden_friction_alarm",
    kind="gauge",
    help="1 for each measure past the bounds of the tracking contract in the last verdict.",
    labels=("measure",),
)

METRICS: tuple[Metric, ...] = (
    EVENTS,
    REVISIONS,
    DEAD_LETTERS,
    LAG,
    WATERMARK_AGE,
    OPEN_INVOCATIONS,
    HELD_MESSAGES,
    FLUSH_SECONDS,
    LANDED_ROWS,
    LANDED_FILES,
    PRIORS,
    PRIORS_AS_OF,
    LOOP,
    GATE,
    FRICTION,
)
"""Every metric of ours."""


@dataclass(slots=True)
class Metrics:
    """The metrics of one process, each registered when it is first measured."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    _made: dict[str, Counter | Gauge | Histogram] = field(default_factory=dict)

    def count(self, metric: Metric, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        counter = self._of(metric, Counter)
        (counter.labels(**labels) if metric.labels else counter).inc(amount)

    def set(self, metric: Metric, value: float, **labels: str) -> None:
        """Set a gauge."""
        gauge = self._of(metric, Gauge)
        (gauge.labels(**labels) if metric.labels else gauge).set(value)

    def observe(self, metric: Metric, value: float, **labels: str) -> None:
        """Add one observation to a histogram."""
        histogram = self._of(metric, Histogram)
        (histogram.labels(**labels) if metric.labels else histogram).observe(value)

    def forget(self, metric: Metric) -> None:
        """Drop every line of a metric: what it measured is no longer ours to tell."""
        made = self._made.pop(metric.name, None)
        if made is not None:
            self.registry.unregister(made)

    def _of(self, metric: Metric, kind: type[_Kind]) -> _Kind:
        made = self._made.get(metric.name)
        if made is None and metric.kind == kind.__name__.lower():
            made = self._made[metric.name] = _make(metric, self.registry)
        if not isinstance(made, kind):
            raise ValueError(f"expected a {kind.__name__.lower()}, got {metric.name}, a {metric.kind}")  # noqa: TRY004  # a caller's mistake
        return made


def _make(metric: Metric, registry: CollectorRegistry) -> Counter | Gauge | Histogram:
    match metric.kind:
        case "counter":
            return Counter(metric.name, metric.help, metric.labels, registry=registry)
        case "gauge":
            return Gauge(metric.name, metric.help, metric.labels, registry=registry)
        case "histogram":
            return Histogram(metric.name, metric.help, metric.labels, buckets=metric.buckets, registry=registry)
