"""The Grafana dashboard: one panel a metric of the catalogue, in its order, drawn as its kind and unit ask for."""

from __future__ import annotations

import json
from typing import Any

from streams.metrics import METRICS, Metric

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WINDOW = "$__rate_interval"
WIDTH, HEIGHT, COLUMNS = 12, 8, 2


def dashboard() -> str:
    """Return deploy/grafana/trodden.json."""
    board = {
        "title": "Trodden",
        "uid": "trodden",
        "description": "Written by `make docs` from the catalogue of metrics.",
        "tags": ["trodden"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "panels": [_panel(place, metric) for place, metric in enumerate(METRICS)],
    }
    return json.dumps(board, indent=1) + "\n"


def queries(metric: Metric) -> list[tuple[str, str]]:
    """Return what is drawn of a metric: expressions with their legends."""
    by = ", ".join(metric.labels)
    legend = " ".join(f"{{{{{label}}}}}" for label in metric.labels)
    if metric.kind == "counter":
        return [(f"sum by ({by}) (rate({metric.name}[{WINDOW}]))", legend)]
    if metric.kind == "gauge":
        return [(f"max by ({by}) ({metric.name})", legend)]
    bucket = ", ".join((*metric.labels, "le"))
    rate = f"sum by ({bucket}) (rate({metric.name}_bucket[{WINDOW}]))"
    return [(f"histogram_quantile({q}, {rate})", f"{legend} p{q * 100:g}".strip()) for q in (0.5, 0.99)]


def unit(metric: Metric) -> str:
    """Return Grafana's name of a metric's unit, told by the metric's own name."""
    if metric.kind == "counter":
        return "cps"
    if metric.name.endswith("_timestamp_seconds"):
        return "dateTimeFromNow"
    if metric.name.endswith("_seconds"):
        return "s"
    return "percentunit" if metric.name.endswith("_ratio") else "short"


def _panel(place: int, metric: Metric) -> dict[str, Any]:
    drawn = queries(metric)
    if unit(metric) == "dateTimeFromNow":
        drawn = [(f"1000 * {expr}", legend) for expr, legend in drawn]
    return {
        "id": place + 1,
        "type": "stat" if unit(metric) == "dateTimeFromNow" else "timeseries",
        "title": metric.name.removeprefix("trodden_").removesuffix("_total").replace("_", " "),
        "description": metric.help,
        "datasource": DATASOURCE,
        "gridPos": {"x": WIDTH * (place % COLUMNS), "y": HEIGHT * (place // COLUMNS), "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit(metric)}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + number), "datasource": DATASOURCE, "expr": expr, "legendFormat": legend or "value"}
            for number, (expr, legend) in enumerate(drawn)
        ],
    }
