"""Real files of real runtimes, where they lie beside the checkout: the figures that an independent count gives."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from producers.adapters import adapter_for
from producers.client import Publisher
from producers.job import import_paths
from producers.report import FileReport, ImportReport
from producers.store import Ledger
from producers.translation import SourceFile
from streams import codec
from streams.events import ToolCalled, ToolStatus
from streams.recall import ResultStatus
from streams.testing import LocalLog
from streams.topics import TOOL_EVENTS

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="no real samples beside the checkout")


def _import(tmp_path: Path, *folders: str) -> tuple[ImportReport, LocalLog]:
    log, ledger = LocalLog(), Ledger(tmp_path / "ledger.sqlite")
    try:
        paths = [SAMPLES / folder for folder in folders]
        return asyncio.run(import_paths(paths, Publisher(log.emitter()), ledger)), log
    finally:
        ledger.close()


def _calls(log: LocalLog) -> list[ToolCalled]:
    events = [event for record in log.records(TOOL_EVENTS.name) for event in codec.decode(record.value or b"")[0]]
    return [event for event in events if isinstance(event, ToolCalled)]


def _file(report: ImportReport, part: str) -> FileReport:
    (found,) = [file for file in report.files if part in file.path]
    return found


def _translated(path: str) -> list[ToolCalled]:
    file = SAMPLES / path
    data = file.read_bytes()
    adapter = adapter_for(file.name, data)
    assert adapter is not None
    translation = adapter.translate([SourceFile(str(file), data, datetime(2026, 9, 1, tzinfo=UTC))])
    return [event for event in translation.events if isinstance(event, ToolCalled)]


def test_a_session_of_greps_and_reads_has_the_figures_of_the_independent_count(tmp_path: Path) -> None:
    report, _ = _import(tmp_path, "claude-transcript")

    file = _file(report, "f5e7d3c2")
    assert (file.calls, file.results, file.errors) == (28, 28, 0)
    assert (file.reads, file.reads_on_hits) == (11, 11)
    assert (file.edits, file.edits_on_hits) == (12, 12)
    assert file.tokens_output == 2670


@pytest.mark.parametrize(
    ("part", "tokens"), [("f5e7d3c2", 2670), ("eee770a5", 995), ("venusos", 31765)], ids=lambda item: str(item)
)
def test_output_tokens_are_those_of_each_messages_last_line(tmp_path: Path, part: str, tokens: int) -> None:
    report, _ = _import(tmp_path, "claude-transcript")

    assert _file(report, part).tokens_output == tokens


def test_a_fetched_page_was_a_result_of_the_web_search() -> None:
    calls = _translated("claude-transcript/entire-eee770a5-websearch-webfetch.jsonl")

    search = next(call for call in calls if call.tool == "WebSearch")
    fetch = next(call for call in calls if call.tool == "WebFetch")
    assert search.recall is not None
    assert fetch.touched[0].path in [candidate.anchor for candidate in search.recall.candidates]


def test_a_documentation_server_is_searched_and_opened_by_id_and_refusals_are_no_errors(tmp_path: Path) -> None:
    report, _ = _import(tmp_path, "claude-transcript")
    calls = _translated("claude-transcript/entire-37995ebe-mcp-context7.jsonl")

    search = next(call for call in calls if call.tool.endswith("resolve-library-id"))
    opened = next(call for call in calls if call.tool.endswith("query-docs"))
    assert search.recall is not None
    assert search.recall.result_status is ResultStatus.COUNTED
    assert [touch.path for touch in opened.touched] == [search.recall.candidates[0].anchor]
    assert _file(report, "37995ebe").errors == 5
    assert [call.status for call in calls if call.tool == "ExitPlanMode"] == [ToolStatus.DENIED] * 4


def test_parallel_calls_that_answer_out_of_order_have_their_own_answers() -> None:
    calls = _translated("claude-transcript/ccviewer-1af7fc5e.jsonl")

    ends = [call.ended_at for call in calls if call.ended_at is not None]
    assert len(ends) == len(calls) == 12
    assert ends != sorted(ends)


def test_a_file_without_messages_is_read_and_holds_nothing(tmp_path: Path) -> None:
    report, _ = _import(tmp_path, "claude-transcript")

    file = _file(report, "episodic-medium")
    assert (file.records, file.calls, file.events) == (23, 0, 0)


def test_a_session_seen_twice_folds_to_81_calls_of_which_hooks_alone_miss_17_failures(tmp_path: Path) -> None:
    hooks = [SAMPLES / "claude-hooks" / name for name in sorted(p.name for p in (SAMPLES / "claude-hooks").iterdir())]
    sources = [SourceFile(str(path), path.read_bytes(), datetime(2026, 9, 1, tzinfo=UTC)) for path in hooks]
    adapter = adapter_for(hooks[-1].name, bytes(sources[-1].data[:65536]))
    assert adapter is not None
    venusos = [source for source in sources if "venusos" in source.uri]
    hooked = [event for event in adapter.translate(venusos).events if isinstance(event, ToolCalled)]
    read = _translated("claude-transcript/venusos-71df9206-v2.1.212-paired.jsonl")

    by_hook = {call.tool_use_id: call for call in hooked}
    by_transcript = {call.tool_use_id: call for call in read}
    both = by_hook.keys() & by_transcript.keys()
    assert len(by_hook.keys() | by_transcript.keys()) == 81
    assert (len(read), len(hooked), len(both)) == (78, 60, 57)
    assert all(by_hook[one].invocation_id == by_transcript[one].invocation_id for one in both)
    missed = [one for one in both if by_hook[one].status is ToolStatus.INTERRUPTED]
    assert len(missed) == 17
    assert {by_transcript[one].status for one in missed} == {ToolStatus.ERROR}


def test_windows_paths_keep_their_drive_and_lose_their_carriage_return() -> None:
    calls = _translated("claude-hooks/ray-windows-pre_tool_use.json")

    assert calls[0].input["file_path"].startswith("C:\\")
    reads = _translated("claude-hooks/ray-windows-post_tool_use.json")
    assert [touch.path for call in reads for touch in call.touched if touch.op == "read"] == [
        "C:/Users/dev/Documents/GitHub/ray/doc/README.md"
    ]


def test_a_codex_call_of_hook_and_rollout_is_one_and_only_the_rollout_knows_its_exit_code(tmp_path: Path) -> None:
    _, log = _import(tmp_path, "codex-rollout", "codex-hooks")

    (call,) = [call for call in _calls(log) if call.tool_use_id == "call_SgmgQFJYyjr6M4NuCOK4FZyY"]
    assert (call.tool, call.tool_raw, call.exit_code) == ("Bash", "exec_command", 1)


@pytest.mark.parametrize(
    ("folder", "calls"), [("codex-exec", 3), ("gemini", 4), ("opencode", 2), ("openhands", 2), ("swe-agent", 11)]
)
def test_every_other_runtimes_sample_gives_its_calls(tmp_path: Path, folder: str, calls: int) -> None:
    _, log = _import(tmp_path, folder)

    assert len(_calls(log)) == calls


def test_a_second_import_of_everything_publishes_nothing(tmp_path: Path) -> None:
    first, _ = _import(tmp_path, ".")
    second, log = _import(tmp_path, ".")

    assert first.published > 350
    assert (second.published, second.republished, second.dead_lettered) == (0, 0, 0)
    assert log.records(TOOL_EVENTS.name) == []
