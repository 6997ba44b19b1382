"""Every generated file of the repository, and the function that writes it."""

from __future__ import annotations

from collections.abc import Callable

from deploy.docs.alerts import alert_rules, scrape_config
from deploy.docs.dashboard import dashboard
from deploy.docs.pages import PAGES

FILES: dict[str, Callable[[], str]] = {f"docs/{name}": page for name, page in PAGES.items()} | {
    "deploy/prometheus/prometheus.yml": scrape_config,
    "deploy/prometheus/alerts.yml": alert_rules,
    "deploy/grafana/trodden.json": dashboard,
}
"""By path below the root of the repository."""
