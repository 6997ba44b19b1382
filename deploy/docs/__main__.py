"""Write the generated pages below docs/."""

from __future__ import annotations

from pathlib import Path

from deploy.docs.pages import PAGES

if __name__ == "__main__":
    folder = Path(__file__).parents[2] / "docs"
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")
