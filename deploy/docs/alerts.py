"""What Prometheus scrapes and when it calls somebody: the alert rules, written with the catalogue's own names."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from deploy.telemetry import ROLES
from streams.metrics import (
    DEAD_LETTERS,
    FLUSH_SECONDS,
    FRICTION,
    GATE,
    LAG,
    LANDED_ROWS,
    LOOP,
    PRIORS_AS_OF,
    REVISIONS,
)

HEAD = "# written by `make docs`; edit deploy/docs/alerts.py instead\n"

METRICS_PORT = 9480
"""What the scrape configuration takes `TRODDEN_METRICS_PORT` to be."""

RISING = "gini|top_10_share|never_exposed_share|rank_1_persistence"
"""Monitors whose rise means that the loop feeds on itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One rule: when it holds for so long, somebody is told what it means and what to do."""

    name: str
    expr: str
    held: str
    severity: str
    summary: str
    what_to_do: str


ALERTS: tuple[Alert, ...] = (
    Alert(
        name="TroddenRoleDown",
        expr='up{job="trodden"} == 0',
        held="2m",
        severity="page",
        summary="Role {{ $labels.role }} does not answer.",
        what_to_do="`trodden up` starts dead roles again; logs/<role>.log below the data folder has its last words.",
    ),
    Alert(
        name="TroddenBehind",
        expr=f"max by (stage) ({LAG.name}) > 300",
        held="10m",
        severity="page",
        summary="Stage {{ $labels.stage }} reads records that are {{ $value | humanizeDuration }} old.",
        what_to_do="Add workers up to the number of partitions; nothing is lost while the topic's retention holds.",
    ),
    Alert(
        name="TroddenDeadLetters",
        expr=f"sum by (stage) (increase({DEAD_LETTERS.name}[15m])) > 0",
        held="0m",
        severity="ticket",
        summary="Stage {{ $labels.stage }} could not read {{ $value | humanize }} messages.",
        what_to_do="`trodden dlq list` says why; `trodden dlq replay` sends them again after a fix.",
    ),
    Alert(
        name="TroddenNothingLands",
        expr=f"sum(rate({REVISIONS.name}[30m])) > 0 unless sum(rate({LANDED_ROWS.name}[30m])) > 0",
        held="30m",
        severity="page",
        summary="Conclusions are published and none of them lands.",
        what_to_do="Look at logs/sink.log: the disk may be full, or another process may hold catalog.duckdb.",
    ),
    Alert(
        name="TroddenSlowFlush",
        expr=f"histogram_quantile(0.99, sum by (le) (rate({FLUSH_SECONDS.name}_bucket[10m]))) > 5",
        held="15m",
        severity="ticket",
        summary="A flush takes {{ $value | humanizeDuration }} in the worst hundredth.",
        what_to_do="The broker answers slowly, or too many invocations are open on one partition.",
    ),
    Alert(
        name="TroddenPriorsOld",
        expr=f"time() - max({PRIORS_AS_OF.name}) > 3 * 3600",
        held="10m",
        severity="ticket",
        summary="The last priors were published {{ $value | humanizeDuration }} ago.",
        what_to_do="Look at logs/ranker.log; `trodden priors publish` runs the job by hand. Searches keep old priors.",
    ),
    Alert(
        name="TroddenRollback",
        expr=f'{GATE.name}{{verdict="ROLLBACK"}} == 1',
        held="0m",
        severity="page",
        summary="The reranked order must not be shown; searches have gone back to shadow by themselves.",
        what_to_do="`trodden gate` names the broken condition.",
    ),
    Alert(
        name="TroddenFriction",
        expr=f"{FRICTION.name} == 1",
        held="0m",
        severity="ticket",
        summary="{{ $labels.measure }} is past the bound of the tracking contract.",
        what_to_do="`trodden diagnose` says whether zero hits, attribution or ranking is behind it.",
    ),
    Alert(
        name="TroddenLoopConcentrates",
        expr=f'{LOOP.name}{{monitor=~"{RISING}"}} - {LOOP.name} offset 30d > 0.1',
        held="1d",
        severity="ticket",
        summary="{{ $labels.monitor }} rose by {{ $value | humanize }} in 30 days.",
        what_to_do="`trodden eval loop` shows the monitors; TRODDEN_EXPLORE=0.02 shows what hardly anybody has seen.",
    ),
)


def scrape_config() -> str:
    """Return deploy/prometheus/prometheus.yml: one target a role, in the order of their ports."""
    targets = [
        {"targets": [f"localhost:{METRICS_PORT + place}"], "labels": {"role": role}} for place, role in enumerate(ROLES)
    ]
    config = {
        "global": {"scrape_interval": "15s", "evaluation_interval": "15s"},
        "rule_files": ["alerts.yml"],
        "scrape_configs": [{"job_name": "trodden", "static_configs": targets}],
    }
    return f"{HEAD}# for TRODDEN_METRICS_PORT={METRICS_PORT}\n{_yaml(config)}"


def alert_rules() -> str:
    """Return deploy/prometheus/alerts.yml."""
    rules = [
        {
            "alert": alert.name,
            "expr": alert.expr,
            "for": alert.held,
            "labels": {"severity": alert.severity},
            "annotations": {"summary": alert.summary, "what_to_do": alert.what_to_do},
        }
        for alert in ALERTS
    ]
    return HEAD + _yaml({"groups": [{"name": "trodden", "rules": rules}]})


def _yaml(value: object) -> str:
    return yaml.safe_dump(value, sort_keys=False, width=150)
