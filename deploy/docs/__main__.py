"""Write the generated files: pages of docs/, the rules of deploy/prometheus, the dashboard of deploy/grafana."""

from __future__ import annotations

from pathlib import Path

from deploy.docs.files import FILES

if __name__ == "__main__":
    root = Path(__file__).parents[2]
    for name, written in FILES.items():
        (root / name).write_text(written(), encoding="utf-8")
