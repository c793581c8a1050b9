"""The page of the plugins' source trees shows the trees that are there."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_shows_the_trees() -> None:
    rendered = runpy.run_path(str(ROOT / "docs" / "render_plugin_layout.py"))

    assert rendered["render"]() == rendered["PAGE"].read_text(), (
        "run: python docs/render_plugin_layout.py"
    )
