"""Small charts as SVG text: a figure by day with its interval, and bars. No script and no font of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 320, 90
LEFT, RIGHT, TOP, BOTTOM = 34, 4, 6, 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One figure of a series."""

    label: str
    value: float | None
    """Null where nothing was measured: the line breaks there."""
    low: float | None = None
    high: float | None = None


def line_chart(points: Sequence[Point], *, title: str, top: float) -> str:
    """Return a line with its interval as a band, from 0 to `top`; gaps stay gaps."""
    place = _places(len(points), top)
    known = [(at, point) for at, point in enumerate(points) if point.value is not None]
    runs: list[list[tuple[int, Point]]] = []
    for at, point in known:
        if runs and runs[-1][-1][0] == at - 1:
            runs[-1].append((at, point))
        else:
            runs.append([(at, point)])
    marks: list[str] = []
    for run in runs:
        band = [(at, each) for at, each in run if each.low is not None and each.high is not None]
        edge = [place(at, each.high or 0) for at, each in band] + [place(at, each.low or 0) for at, each in band[::-1]]
        marks.append(f'<polygon class="band" points="{" ".join(edge)}"/>')
        line = " ".join(place(at, each.value or 0) for at, each in run)
        marks.append(f'<polyline class="line" points="{line}"/>')
    marks += [
        f'<circle class="dot" r="2.5" {_at(place(at, point.value or 0))}><title>{escape(_told(point))}</title></circle>'
        for at, point in known
    ]
    return _svg(title, [*marks, *_axes(points, top)])


def bar_chart(points: Sequence[Point], *, title: str) -> str:
    """Return bars from 0 to the largest value."""
    top = max((point.value or 0 for point in points), default=0) or 1.0
    width = (WIDTH - LEFT - RIGHT) / max(len(points), 1)
    marks = []
    for at, point in enumerate(points):
        height = (HEIGHT - TOP - BOTTOM) * (point.value or 0) / top
        x, y = LEFT + at * width + width * 0.15, HEIGHT - BOTTOM - height
        marks.append(
            f'<rect class="bar" x="{x:.1f}" y="{y:.1f}" width="{width * 0.7:.1f}" height="{height:.1f}">'
            f"<title>{escape(_told(point))}</title></rect>"
            f'<text x="{x + width * 0.35:.1f}" y="{HEIGHT - 4}" text-anchor="middle">{escape(point.label)}</text>'
        )
    return _svg(title, [*marks, f'<text x="{LEFT - 4}" y="{TOP + 8}" text-anchor="end">{top:g}</text>'])


def _places(count: int, top: float) -> Callable[[int, float], str]:
    step = (WIDTH - LEFT - RIGHT) / max(count - 1, 1)

    def place(at: int, value: float) -> str:
        height = (HEIGHT - TOP - BOTTOM) * min(value / top, 1.0)
        return f"{LEFT + at * step:.1f},{HEIGHT - BOTTOM - height:.1f}"

    return place


def _at(place: str) -> str:
    x, _, y = place.partition(",")
    return f'cx="{x}" cy="{y}"'


def _told(point: Point) -> str:
    shown = "not measured" if point.value is None else f"{point.value:.3g}"
    interval = "" if point.low is None or point.high is None else f" ({point.low:.3g} to {point.high:.3g})"
    return f"{point.label}: {shown}{interval}"


def _axes(points: Sequence[Point], top: float) -> list[str]:
    bottom = HEIGHT - BOTTOM
    axes = [
        f'<line class="axis" x1="{LEFT}" y1="{bottom}" x2="{WIDTH - RIGHT}" y2="{bottom}"/>',
        f'<text x="{LEFT - 4}" y="{TOP + 8}" text-anchor="end">{top:g}</text>',
        f'<text x="{LEFT - 4}" y="{bottom}" text-anchor="end">0</text>',
    ]
    if points:
        axes.append(f'<text x="{LEFT}" y="{HEIGHT - 4}">{escape(points[0].label)}</text>')
        axes.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 4}" text-anchor="end">{escape(points[-1].label)}</text>')
    return axes


def _svg(title: str, marks: Sequence[str]) -> str:
    label = escape(title, quote=True)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{"".join(marks)}</svg>'
