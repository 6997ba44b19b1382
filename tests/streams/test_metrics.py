"""What was measured is told; what was not is absent; who stands still is not healthy."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from streams.metrics import EVENTS, FLUSH_SECONDS, METRICS, OPEN_INVOCATIONS, Metrics
from streams.server import MAX_SILENCE_SECONDS, Health, MetricsServer


def scrape(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_what_nobody_has_measured_is_absent_and_never_zero() -> None:
    with MetricsServer(Metrics(), Health()) as server:
        status, text = scrape(server.port, "/metrics")

    assert (status, text) == (200, "")


def test_what_was_measured_stands_with_its_labels() -> None:
    metrics = Metrics()
    metrics.count(EVENTS, 3, adapter="codex", outcome="used")
    metrics.set(OPEN_INVOCATIONS, 0, partition="2")
    metrics.observe(FLUSH_SECONDS, 0.2)

    with MetricsServer(metrics, Health()) as server:
        _, text = scrape(server.port, "/metrics")

    assert 'trodden_events_total{adapter="codex",outcome="used"} 3.0' in text
    assert 'trodden_open_invocations{partition="2"} 0.0' in text
    assert 'trodden_flush_seconds_bucket{le="0.25"} 1.0' in text


def test_a_forgotten_gauge_is_absent_again() -> None:
    metrics = Metrics()
    metrics.set(OPEN_INVOCATIONS, 5, partition="2")

    metrics.forget(OPEN_INVOCATIONS)

    with MetricsServer(metrics, Health()) as server:
        assert "open_invocations" not in scrape(server.port, "/metrics")[1]


def test_a_loop_that_stands_still_is_not_healthy_until_it_comes_round_again() -> None:
    now = [0.0]
    health = Health(lambda: now[0])

    with MetricsServer(Metrics(), health) as server:
        first, _ = scrape(server.port, "/healthz")
        now[0] = MAX_SILENCE_SECONDS
        second, told = scrape(server.port, "/healthz")
        health.progressed()
        third, _ = scrape(server.port, "/healthz")

    assert (first, second, third) == (200, 503, 200)
    assert json.loads(told) == {"healthy": False, "seconds_since_progress": MAX_SILENCE_SECONDS}


def test_a_metric_is_used_as_what_it_is() -> None:
    with pytest.raises(ValueError, match="expected a gauge, got trodden_events_total, a counter"):
        Metrics().set(EVENTS, 1, adapter="a", outcome="used")


def test_names_are_unique_and_counters_end_in_total() -> None:
    names = [metric.name for metric in METRICS]

    assert len(set(names)) == len(names)
    assert all(metric.name.endswith("_total") == (metric.kind == "counter") for metric in METRICS)
