"""The reference of what callers need is what the declarations give."""

from __future__ import annotations

import runpy
from pathlib import Path

from quorate.builtin.auth.roles import BUILT_IN

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "auth.md").read_text(encoding="utf-8")


def test_the_page_is_what_the_declarations_give() -> None:
    render = runpy.run_path(str(ROOT / "docs" / "render_access.py"))["render"]

    assert render() == PAGE, "run: python docs/render_access.py"


def test_every_built_in_role_is_told() -> None:
    assert all(f"| `{role}` |" in PAGE for role in BUILT_IN)
    assert "not declared |" not in PAGE
