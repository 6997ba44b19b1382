"""The specification's prior, branch by branch."""

from __future__ import annotations

import pytest

from ranking.constitutional import is_constitutional
from ranking.priors import AnchorRecord, spec_prior


def a_record(**changes: object) -> AnchorRecord:
    fields: dict[str, object] = {
        "kind": "feature",
        "exposures": 30,
        "consumed": 10,
        "days_since_consumed": 0.0,
        "days_since_indexed": 60.0,
    }
    return AnchorRecord(**(fields | changes))  # type: ignore[arg-type]  # a builder passes what the test names


def test_a_full_record_is_shrunk_centred_and_faded() -> None:
    found = spec_prior(a_record(exposures=30, consumed=10, days_since_consumed=90.0), 0.1)

    assert found.branch == "full"
    assert found.prior == pytest.approx((12 / 40 - 0.1) * 0.5)


@pytest.mark.parametrize(
    ("exposures", "branch"), [(4, "cold_start"), (5, "low_sample"), (19, "low_sample"), (20, "full")]
)
def test_the_branch_changes_at_five_and_at_twenty_exposures(exposures: int, branch: str) -> None:
    assert spec_prior(a_record(exposures=exposures, consumed=0)).branch == branch


@pytest.mark.parametrize(("exposures", "sign"), [(4, 0), (19, 0), (20, -1)])
def test_a_bad_record_counts_only_with_full_data(exposures: int, sign: int) -> None:
    prior = spec_prior(a_record(exposures=exposures, consumed=0), 0.2).prior

    assert (prior > 0) - (prior < 0) == sign


def test_grace_ends_at_fourteen_days() -> None:
    assert spec_prior(a_record(days_since_indexed=13.99)).prior == 0.0
    assert spec_prior(a_record(days_since_indexed=14.0)).branch == "full"


def test_an_unknown_first_indexing_gives_no_grace() -> None:
    assert spec_prior(a_record(days_since_indexed=None)).branch == "full"


def test_a_constitutional_document_gains_but_never_loses() -> None:
    assert spec_prior(a_record(constitutional=True, consumed=0), 0.3).prior == 0.0
    assert spec_prior(a_record(constitutional=True, consumed=25), 0.3).prior > 0.0


def test_a_document_never_opened_keeps_half_of_its_bad_lift() -> None:
    found = spec_prior(a_record(exposures=40, consumed=0, days_since_consumed=None), 0.2)

    assert found.prior == pytest.approx((2 / 50 - 0.2) * 0.5)


@pytest.mark.parametrize(
    ("kind", "authority", "path", "expected"),
    [
        ("feature", "constitutional", "", True),
        ("lesson", "observed", "notes/x.md", True),
        ("adr", "observed", "", True),
        ("canon", "observed", "", True),
        ("decision", "observed", "", False),
        ("decision", "validated", "docs/decisions/007-broker.md", True),
        ("decision", "observed", "docs/adr/0007-broker.md", True),
        ("decision", "observed", "notes/ADR-007-broker.md", True),
        ("discussion", "observed", "docs/decisions/talk.md", False),
        ("feature", "validated", "docs/features/F001.md", False),
        ("decision", "observed", "docs/decisionsupport/x.md", False),
    ],
)
def test_constitutional_is_decided_by_authority_path_and_kind(
    kind: str, authority: str, path: str, expected: bool
) -> None:
    assert is_constitutional(kind, authority, path) is expected
