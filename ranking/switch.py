"""What verdicts and overrides allow: what has fallen stays in shadow until it earns an `ON` or a new override."""

from __future__ import annotations

from datetime import datetime

import msgspec

from ranking.gate import GateReport, Verdict
from ranking.rerank import Mode


class Override(msgspec.Struct, frozen=True, kw_only=True):
    """Someone's decision to switch on without a passing verdict."""

    why: str
    at: datetime
    ranker_id: str
    verdict: Verdict | None
    """The verdict at that time; None when none had been reached."""


def standing(
    ranker_id: str, report: GateReport | None, override: Override | None
) -> tuple[datetime | None, datetime | None]:
    """Return since when a ranker may be on, and when it last fell; None for never.

    `report` and `override` are the last ones, of whatever ranker. Open evidence takes nothing away: only a `ROLLBACK`
    ends what an `ON` or an override has given, and only what comes after it gives it again.
    """
    own = report if report is not None and report.ranker_id == ranker_id else None
    on_since, fell_at = (own.on_since, own.fell_at) if own is not None else (None, None)
    if on_since is None and override is not None and override.ranker_id == ranker_id:
        on_since = override.at if fell_at is None or override.at >= fell_at else None
    return on_since, fell_at


def allowed(asked: Mode, ranker_id: str, report: GateReport | None, override: Override | None) -> tuple[Mode, str]:
    """Return the mode that a search may use, and why where it is not the one that was asked for, or is overridden."""
    if asked != "on":
        return asked, ""
    own = report if report is not None and report.ranker_id == ranker_id else None
    on_since, _ = standing(ranker_id, report, override)
    if on_since is None:
        said = f"{own.verdict}: {own.reason}" if own else "no verdict on this ranker yet"
        return "shadow", f"{said}; `trodden gate` asks for one, `trodden gate --override WHY` goes without"
    overridden = override is not None and override.ranker_id == ranker_id and override.at == on_since
    return "on", f"overridden: {override.why}" if override is not None and overridden else ""
