"""The demo's world: the plan, and the session files that say it in Claude Code's own format."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from deploy.demo import documents, sessions
from deploy.demo.lookup import lookup
from deploy.demo.plan import HERO_QUERY, PLAN, RISES, SINKS
from deploy.demo.visits import expected, schedule
from producers.adapters import claude_code
from producers.lines import json_lines
from producers.translation import SourceFile
from streams.events import InvocationStarted, ToolCalled, ToolStatus

AS_OF = datetime(2031, 4, 1, 12, tzinfo=UTC)


def _events(folder: Path) -> list[ToolCalled | InvocationStarted]:
    files = [SourceFile(str(path), path.read_bytes()) for path in sorted(folder.rglob("*.jsonl"))]
    groups: dict[str, list[SourceFile]] = {}
    for file in files:
        groups.setdefault(claude_code.lineage(file.uri, bytes(file.data)), []).append(file)
    events = [event for group in groups.values() for event in claude_code.translate(group).events]
    return [event for event in events if isinstance(event, ToolCalled | InvocationStarted)]


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    first = sessions.write(tmp_path / "a", AS_OF)
    second = sessions.write(tmp_path / "b", AS_OF)

    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_every_visit_of_the_plan_is_one_invocation_and_every_search_one_recall(tmp_path: Path) -> None:
    sessions.write(tmp_path, AS_OF)

    events = _events(tmp_path)

    recalls = [event.recall for event in events if isinstance(event, ToolCalled) and event.recall is not None]
    shown = Counter(tuple(one.anchor for one in recall.candidates) for recall in recalls if recall.surface == "memory")
    assert sum(isinstance(event, InvocationStarted) for event in events) == sum(visit.times for visit in PLAN)
    assert shown == Counter(recall.shown for recall in expected(schedule(AS_OF), lookup))


def test_the_sessions_hold_every_trap_that_the_plan_names(tmp_path: Path) -> None:
    sessions.write(tmp_path, AS_OF)

    calls = [event for event in _events(tmp_path) if isinstance(event, ToolCalled)]

    assert {call.status for call in calls} >= {ToolStatus.OK, ToolStatus.ERROR, ToolStatus.INTERRUPTED}
    assert any("/" in call.agent_id for call in calls)
    assert {"search_evidence", "graph_resolve", "Read", "Bash", "Grep", "Edit"} <= {call.tool for call in calls}


def test_parallel_searches_answer_in_the_opposite_order(tmp_path: Path) -> None:
    written = sessions.write(tmp_path, AS_OF)

    asked: list[str] = []
    answered: list[str] = []
    for path in written:
        for line in json_lines(path.read_bytes(), str(path)):
            content = getattr(line, "value", {}).get("message", {}).get("content")
            for block in content if isinstance(content, list) else []:
                asked += [block["id"]] if block["type"] == "tool_use" else []
                answered += [block["tool_use_id"]] if block["type"] == "tool_result" else []
    assert sorted(asked) != sorted(answered)  # one call was interrupted
    assert [one for one in asked if one in answered] != answered


def test_some_document_is_opened_that_no_search_had_shown() -> None:
    outside = Counter(anchor for recall in expected(schedule(AS_OF), lookup) for anchor in recall.outside)

    assert outside["doc:research/2031-gps-under-trees"] == 2


def test_the_plan_makes_one_document_rise_from_rank_4_and_another_sink_from_rank_1() -> None:
    recalls = expected(schedule(AS_OF), lookup)

    assert [one.anchor for one in lookup(HERO_QUERY)].index(RISES) == 3
    assert lookup(HERO_QUERY)[0].anchor == SINKS
    assert sum(RISES in recall.shown for recall in recalls) >= 20
    assert sum(RISES in recall.consumed for recall in recalls) >= 20
    assert sum(SINKS in recall.shown for recall in recalls) >= 40
    assert not any(SINKS in recall.consumed for recall in recalls)
    assert all((AS_OF - recall.at).days < 30 for recall in recalls)


def test_the_documentation_is_dated_as_of_the_demos_present_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    count = documents.write(tmp_path, AS_OF)

    files = {path.relative_to(tmp_path).as_posix(): path.read_text("utf-8") for path in tmp_path.rglob("*.md")}
    assert len(files) == count >= 40
    assert not any("days-ago" in text for text in files.values())
    for name, text in files.items():
        for target in documents.links(text):
            assert (tmp_path / name).parent.joinpath(target).is_file(), f"{name} -> {target}"
