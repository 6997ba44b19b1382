"""Kills on Apache Kafka change nothing in the end: the crash bench in a small size."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches.crash import Plan, run
from benches.recording import Shape


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.timeout(900)  # the run itself ends sooner when nothing moves any more
def test_killed_workers_sinks_and_broker_leave_what_a_replay_makes(kafka_lib: Path, tmp_path: Path) -> None:
    shape = Shape(invocations=60, sessions=20, parallel=20)
    plan = Plan(shape=shape, kills=4, storm=1, events_per_s=1000)

    report = run(plan, tmp_path, kafka_lib)

    assert "broker" in report.killed
    assert [(each.lost, each.extra, each.differing, each.first) for each in report.comparisons] == [(0, 0, 0, None)] * 2
    assert report.equal
