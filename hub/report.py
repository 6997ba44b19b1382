"""One self-contained page of a time window: figures with intervals, their course by day, documents, what to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape

from hub.charts import Point, bar_chart, line_chart
from warehouse import anchors
from warehouse.store import AnchorCounts, Warehouse
from warehouse.values import MeasureValue, State
from warehouse.verdict import Diagnosis

CHARTED = ("consumed_at_3", "consumed_mrr", "search_abandon_rate", "reformulation_rate", "grep_fallback_rate")
"""Measures whose course by day is drawn; all lie in [0, 1]."""

DOCUMENTS_SHOWN = 15
RANKS_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What the page says."""

    as_of: datetime
    days: int
    surface: str | None
    figures: Sequence[MeasureValue]
    course: Mapping[str, Sequence[MeasureValue]]
    """Measure -> its figures by day."""
    ranks: Mapping[int, int]
    """Rank -> consumptions."""
    popular: Sequence[AnchorCounts]
    dormant: Sequence[AnchorCounts]
    diagnosis: Diagnosis


def gather(warehouse: Warehouse, as_of: datetime, days: int, *, surface: str | None = "memory") -> Report:
    """Return what the warehouse says of the days before an instant."""
    course: dict[str, list[MeasureValue]] = {}
    for value in warehouse.measures(as_of, days, surface=surface, names=CHARTED, slice_by="day"):
        course.setdefault(value.name, []).append(value)
    opened = warehouse.sql(
        "SELECT rank, count(*) AS n FROM recall_candidate WHERE consumed AND occurred_at < $until "
        "AND occurred_at >= $since AND ($surface::VARCHAR IS NULL OR surface = $surface) GROUP BY rank",
        {"until": as_of, "since": as_of - timedelta(days=days), "surface": surface},
    )
    counts = warehouse.anchors(as_of, days, surface=surface)
    return Report(
        as_of=as_of,
        days=days,
        surface=surface,
        figures=warehouse.measures(as_of, days, surface=surface),
        course=course,
        ranks=Counter({int(row["rank"]): int(row["n"]) for row in opened}),
        popular=anchors.popular(counts)[:DOCUMENTS_SHOWN],
        dormant=anchors.dormant(counts, threshold=days)[:DOCUMENTS_SHOWN],
        diagnosis=warehouse.diagnose(as_of, days, surface=surface),
    )


def page(report: Report, *, style: str) -> str:
    """Return the page as HTML with this style sheet in it: no script, nothing from elsewhere."""
    when = f"{report.days} days before {report.as_of:%Y-%m-%d %H:%M} UTC, {report.surface or 'all surfaces'}"
    charts = "".join(_course(values) for values in report.course.values())
    bars = [Point(label=str(rank), value=report.ranks.get(rank, 0)) for rank in range(1, RANKS_SHOWN + 1)]
    findings = "".join(
        f"<li>{'<b>look here</b>: ' if each.suspect else ''}{escape(each.layer)}: {escape(each.because)}</li>"
        for each in report.diagnosis.findings
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Trodden: {escape(when)}</title><style>{style}</style>"
        f"<h1>What the searches were worth</h1><p>{escape(when)}. From tool calls alone; bands are 95 % intervals; "
        "what was not measured is left out, never zero.</p>"
        f"<h2>Look at: {escape(report.diagnosis.verdict)}</h2><p>{escape(report.diagnosis.because)}</p>"
        f"<ul>{findings}</ul>"
        f"<h2>Figures</h2>{_figures(report.figures)}<h2>By day</h2><div class='charts'>{charts}</div>"
        f"<h2>Opened from rank</h2><figure>{bar_chart(bars, title='Consumptions by rank')}</figure>"
        f"<h2>Consumed most</h2>{_documents(report.popular)}<h2>Dormant</h2>{_documents(report.dormant)}</html>\n"
    )


def _course(values: Sequence[MeasureValue]) -> str:
    points = [Point(label=each.slice, value=each.value, low=each.low, high=each.high) for each in values]
    title = values[0].title
    return f"<figure><figcaption>{escape(title)}</figcaption>{line_chart(points, title=title, top=1.0)}</figure>"


def _figures(values: Sequence[MeasureValue]) -> str:
    rows = "".join(
        f"<tr><td>{escape(value.title)}</td><td>{_number(value.value, value.unit)}</td>"
        f"<td>{_number(value.low, value.unit)} – {_number(value.high, value.unit)}</td><td>{value.n:,}</td>"
        f"<td>{escape(value.reason)}</td></tr>"
        for value in values
        if value.state is not State.NOT_MEASURED
    )
    return f"<table><tr><th>measure<th>value<th>95 % interval<th>n<th></tr>{rows}</table>"


def _documents(found: Sequence[AnchorCounts]) -> str:
    rows = "".join(
        f"<tr><td>{escape(each.anchor)}</td><td>{escape(each.doc_kind or '')}</td><td>{each.exposures:,}</td>"
        f"<td>{each.consumptions:,}</td></tr>"
        for each in found
    )
    return f"<table><tr><th>document<th>kind<th>shown<th>consumed</tr>{rows}</table>" if found else "<p>None.</p>"


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    return (
        f"{value:.1%}" if unit == "share" else f"{value:.3f}" if unit == "reciprocal rank" else f"{value:,.1f} {unit}"
    )
