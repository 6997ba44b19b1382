"""The topics, in one visible tuple: name, key, what travels, how long it stays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

MAX_MESSAGE_BYTES = 900 * 1024
"""Largest message value: below Kafka's default limit of 1 MiB, with room for key and headers."""

MAX_EVENTS_PER_MESSAGE = 100
"""A Faust message costs about 80 us whatever it holds, so producers batch the events of a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One topic of the log."""

    name: str
    key: str
    """The field whose value is the message key."""
    carries: str
    cleanup: Literal["delete", "compact"]
    retention: timedelta | None
    """How long records stay; null keeps the newest of every key for ever."""
    partitions: int = 4

    @property
    def dead(self) -> str:
        """Name of the topic that takes this topic's dead letters."""
        return f"{self.name}.dead"


TOOL_EVENTS = Topic(
    name="agent.tool-events.v1",
    key="root_session_id",
    carries="ToolCalled, InvocationStarted, InvocationEnded: 1 to 100 of one session a message",
    cleanup="delete",
    retention=timedelta(days=7),
)
MESSAGES = Topic(
    name="agent.messages.v1", key="thread_id", carries="MessagePosted", cleanup="delete", retention=timedelta(days=7)
)
SIGNALS = Topic(
    name="agent.signals.v1",
    key="thread_id",
    carries="OutcomeSignalled",
    cleanup="delete",
    retention=timedelta(days=30),
)
RECALL_EVENTS = Topic(
    name="recall.events.v1", key="recall_id", carries="RecallEvent revisions", cleanup="compact", retention=None
)
TRAJECTORIES = Topic(
    name="recall.trajectories.v1",
    key="trajectory_id",
    carries="TaskTrajectory revisions",
    cleanup="compact",
    retention=None,
)
DOCUMENTS = Topic(
    name="memory.documents.v1",
    key="anchor",
    carries="DocumentIndexed; a tombstone says the document is gone",
    cleanup="compact",
    retention=None,
)
ANCHOR_PRIORS = Topic(
    name="recall.anchor-priors.v1",
    key="anchor",
    carries="AnchorPrior; a tombstone withdraws it",
    cleanup="compact",
    retention=None,
)

TOPICS: tuple[Topic, ...] = (TOOL_EVENTS, MESSAGES, SIGNALS, RECALL_EVENTS, TRAJECTORIES, DOCUMENTS, ANCHOR_PRIORS)
"""Every topic that carries events."""

PROGRESS = Topic(
    name="recall.progress.v1",
    key="invocation_id",
    carries="the correlator's markers: where an invocation begins, and whether it is closed",
    cleanup="compact",
    retention=None,
)
"""Partition n belongs to whoever reads partition n of the tool events; both topics have the same number of them."""

INTERNAL_TOPICS: tuple[Topic, ...] = (PROGRESS,)
"""Topics that nobody but their writer reads; they have no dead letters."""

DEAD_LETTER_RETENTION = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSpec:
    """What a broker is asked for when a topic is created."""

    name: str
    partitions: int
    configs: Mapping[str, str]
    """Kafka's own names and values."""


def specs(
    topics: Iterable[Topic] = TOPICS,
    internal: Iterable[Topic] = INTERNAL_TOPICS,
    *,
    partitions: int | None = None,
) -> list[TopicSpec]:
    """Return what to create for these topics and their dead letters, and for internal topics.

    `partitions` overrides every number.
    """
    return [
        TopicSpec(name=name, partitions=partitions or topic.partitions, configs=configs)
        for topic, names in [(t, (t.name, t.dead)) for t in topics] + [(t, (t.name,)) for t in internal]
        for name, configs in zip(names, (_configs(topic), _DEAD_CONFIGS), strict=False)
    ]


def _milliseconds(time: timedelta | None) -> str:
    return "-1" if time is None else str(time // timedelta(milliseconds=1))


def _configs(topic: Topic) -> dict[str, str]:
    return {"cleanup.policy": topic.cleanup, "retention.ms": _milliseconds(topic.retention)}


_DEAD_CONFIGS = {"cleanup.policy": "delete", "retention.ms": _milliseconds(DEAD_LETTER_RETENTION)}


def differences(wanted: Iterable[TopicSpec], found: Iterable[TopicSpec]) -> list[str]:
    """Return, a line each, what the broker's topics do not have of what is wanted; what they have besides is theirs."""
    on_broker = {spec.name: spec for spec in found}
    lines: list[str] = []
    for spec in wanted:
        other = on_broker.get(spec.name)
        if other is None:
            lines.append(f"{spec.name}: missing, expected {spec.partitions} partitions")
            continue
        if other.partitions != spec.partitions:
            lines.append(f"{spec.name}: expected {spec.partitions} partitions, got {other.partitions}")
        for name, value in spec.configs.items():
            if other.configs.get(name) != value:
                lines.append(f"{spec.name}: expected {name}={value}, got {other.configs.get(name)}")
    return lines
