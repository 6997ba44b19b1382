"""Explaining a search call by call, and weighing other windows."""

from __future__ import annotations

from correlator.explain import as_text, explain
from correlator.identity import recall_id_of
from correlator.report import percentile, window_report
from streams.events import ToolCalled, ToolStatus
from tests.correlator.builders import a_call, a_read, a_search, a_shell


def test_every_later_call_has_a_verdict_and_a_reason() -> None:
    search = a_search("n/a.md", "n/b.md", at_s=0)
    events = [
        search,
        a_read("n/a.md", at_s=1),
        a_read("n/b.md", at_s=2, status=ToolStatus.ERROR),
        a_read("n/a.md", at_s=3),
        a_read("n/z.md", at_s=4),
        a_shell("rg kiln", at_s=5),
        a_call("TodoWrite", at_s=6),
        *(a_call("TodoWrite", at_s=7 + index, use=f"t{index}") for index in range(20)),
        a_read("n/b.md", at_s=400),
    ]

    found = explain(recall_id_of(search), events)

    assert found is not None
    assert [call.verdict for call in found.calls[:6]] == ["consumed", "clicked", "again", "-", "fallback", "-"]
    assert (found.calls[-1].verdict, found.calls[-1].inside) == ("too late", False)
    assert [call.distance for call in found.calls[:3]] == [1, 2, 3]
    assert "n/a.md (rank 1) by its path, grade B" in as_text(found)


def test_an_unknown_search_has_no_explanation() -> None:
    assert explain("nobody", [a_search("n/a.md")]) is None
    assert explain("nobody", []) is None


def late_reads() -> list[ToolCalled]:
    """A search that is read 31 calls and 500 s later, and one that is read at once."""
    calls = [a_call("TodoWrite", at_s=400 + index, use=f"t{index}") for index in range(30)]
    late = [a_search("n/a.md"), *calls, a_read("n/a.md", at_s=500)]
    soon = [a_search("n/b.md", invocation="v2"), a_read("n/b.md", at_s=4, invocation="v2")]
    return [*late, *soon]


def test_a_wider_window_gains_what_the_one_in_force_does_not_count() -> None:
    effects = {each.policy: each for each in window_report(late_reads())}

    assert (effects["compound-v1"].consumptions, effects["coding-v1"].consumptions) == (1, 2)
    assert (effects["coding-v1"].gained, effects["coding-v1"].lost) == (1, 0)
    assert (effects["whole-invocation"].distance_p95, effects["whole-invocation"].elapsed_p95_ms) == (31, 500_000)
    assert effects["compound-v1"].consumed_searches == 1


def test_a_narrower_window_loses() -> None:
    calls = [a_call("TodoWrite", at_s=1 + index, use=f"t{index}") for index in range(25)]
    effects = {each.policy: each for each in window_report([a_search("n/a.md"), *calls, a_read("n/a.md", at_s=200)])}

    assert (effects["capped-v1"].consumptions, effects["capped-v1"].lost) == (0, 1)


def test_without_consumptions_there_is_no_percentile() -> None:
    assert window_report([])[0].distance_p95 is None
    assert percentile([], 0.95) is None
    assert percentile(list(range(1, 101)), 0.95) == 95
    assert percentile([7], 0.5) == 7
