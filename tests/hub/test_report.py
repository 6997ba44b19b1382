"""The report is one page that needs nothing else, says what was measured, and escapes what people wrote."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

from deploy.cli.report import style
from hub.charts import Point, bar_chart, line_chart
from hub.report import gather, page
from streams.clock import FixedClock
from streams.testing import LocalLog
from tests.warehouse.builders import T0, a_candidate, a_consumption, a_recall, emit_recalls, land
from warehouse.store import Warehouse


def a_page(folder: Path) -> str:
    log = LocalLog(clock=FixedClock(T0))
    shown = (a_candidate(1), a_candidate(2, "<script>x"))
    consumed = (a_consumption(2, "<script>x"),)
    recalls = [a_recall(f"r{day}", occurred_at=T0 + timedelta(days=day), candidates=shown) for day in (0, 2)]
    recalls.append(a_recall("hit", candidates=shown, consumed=consumed))

    async def fill() -> None:
        await emit_recalls(log, recalls)
        await land(log, folder)

    asyncio.run(fill())
    return page(gather(Warehouse(folder), T0 + timedelta(days=3), 7), style=style())


def test_the_page_is_self_contained_and_escapes_names(tmp_path: Path) -> None:
    text = a_page(tmp_path)

    HTMLParser().feed(text)
    assert re.search(r"<script|<link|src=|https?://|@import|url[(]", text) is None
    assert "&lt;script&gt;x" in text


def test_the_page_tells_the_figures_with_their_n(tmp_path: Path) -> None:
    text = a_page(tmp_path)

    row = re.search(r"<tr><td>Consumed@3</td><td>([^<]*)</td><td>([^<]*)</td><td>([^<]*)</td>", text)
    assert row is not None
    assert (row.group(1), row.group(3)) == ("33.3%", "3")
    assert "<title>2: 1</title>" in text


def test_a_day_without_figures_breaks_the_line() -> None:
    days = [Point(label=f"d{at}", value=value) for at, value in enumerate([0.1, 0.2, None, 0.4])]

    drawn = line_chart(days, title="t", top=1.0)

    assert drawn.count("<polyline") == 2
    assert drawn.count("<circle") == 3


def test_the_largest_bar_fills_the_height() -> None:
    drawn = bar_chart([Point(label="1", value=4.0), Point(label="2", value=2.0)], title="t")

    assert re.findall(r'height="([0-9.]+)"', drawn) == ["68.0", "34.0"]
