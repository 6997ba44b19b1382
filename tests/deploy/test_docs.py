"""The generated pages stand in docs/ as the code says they should."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.docs.pages import PAGES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_what_the_code_would_write(name: str) -> None:
    written = (DOCS / name).read_text(encoding="utf-8")

    assert written == PAGES[name](), f"docs/{name} is old: run `make docs`"
