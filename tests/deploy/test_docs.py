"""The generated files stand in the repository as the code says they should, and say nothing that is not measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from deploy.docs.alerts import ALERTS, METRICS_PORT, scrape_config
from deploy.docs.dashboard import WINDOW, dashboard, queries
from deploy.docs.files import FILES
from deploy.settings import Settings
from deploy.telemetry import ROLES
from streams.metrics import METRICS

ROOT = Path(__file__).parents[2]
LABELS = {m.name + ("_bucket" if m.kind == "histogram" else ""): {*m.labels} for m in METRICS} | {"up": {"job"}}
DRAWN = [expr.replace(WINDOW, "5m") for metric in METRICS for expr, _ in queries(metric)]
ASKED = [*(alert.expr for alert in ALERTS), *DRAWN]


@pytest.mark.parametrize("name", FILES)
def test_a_generated_file_is_what_the_code_would_write(name: str) -> None:
    written = (ROOT / name).read_text(encoding="utf-8")

    assert written == FILES[name](), f"{name} is old: run `make docs`"


def selectors(node: Any) -> list[Any]:
    """Return the vector selectors below a node of a parsed PromQL expression."""
    if isinstance(node, promql_parser.VectorSelector):
        return [node]
    children = [getattr(node, name, None) for name in ("expr", "lhs", "rhs", "vector_selector")]
    children += list(getattr(node, "args", ()))
    return [found for child in children if child is not None for found in selectors(child)]


@pytest.mark.parametrize("expr", ASKED)
def test_an_expression_parses_and_asks_for_metrics_and_labels_that_exist(expr: str) -> None:
    found = selectors(promql_parser.parse(expr))

    assert found
    for selector in found:
        assert selector.name in LABELS
        assert {matcher.name for matcher in selector.matchers.matchers} <= LABELS[selector.name]


def test_an_expression_that_is_none_does_not_parse() -> None:
    with pytest.raises(ValueError, match=r"."):
        promql_parser.parse("sum by (stage (trodden_lag_seconds)")


def test_every_metric_has_its_panel() -> None:
    panels = json.loads(dashboard())["panels"]

    assert [panel["description"] for panel in panels] == [metric.help for metric in METRICS]
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels)


def test_every_role_is_scraped_at_its_port() -> None:
    (job,) = yaml.safe_load(scrape_config())["scrape_configs"]

    assert {target["labels"]["role"]: target["targets"] for target in job["static_configs"]} == {
        role: [f"localhost:{METRICS_PORT + ROLES.index(role)}"] for role in ROLES
    }
    serving = {Settings.model_fields[name].default for name in ("port", "collector_port")}
    assert not serving & set(range(METRICS_PORT, METRICS_PORT + len(ROLES)))
