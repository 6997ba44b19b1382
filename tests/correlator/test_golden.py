"""The golden corpus: every labelled sequence, fact by fact."""

from __future__ import annotations

import pytest

from tests.correlator.golden import Case, facts_of, load, rule_of

CASES = load()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}: {case.name}")
def test_the_correlator_finds_what_a_person_labelled(case: Case) -> None:
    assert facts_of(case) == case.facts


def test_the_corpus_holds_every_rule() -> None:
    rules = {rule_of(fact) for case in CASES for fact in case.facts}

    assert len(CASES) >= 200
    assert rules >= {
        "consumed by path",
        "consumed by path of the anchor",
        "consumed by anchor in the file name",
        "consumed by resolved anchor",
        "consumed by exact anchor",
        "consumed by thread id",
        "consumed by session id",
        "consumed by invocation id",
        "consumed by message id",
        "consumed by passage id",
        "consumed by path and lines",
        "consumed by url",
        "consumed by id on the same server",
        "outside",
        "clicked",
        "seen",
        "grade A",
        "grade C",
        "grade E",
        "ambiguous",
    }
