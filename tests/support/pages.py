"""The pages of the documentation as they are built, with the parts that stand in no file."""

from __future__ import annotations

import runpy
import sys
from functools import cache
from pathlib import Path
from typing import Final

DOCS: Final = Path(__file__).parents[2] / "docs"


@cache
def page(name: str) -> str:
    """Return a page, such as `reference/hooks`."""
    sys.path.insert(0, str(DOCS))
    try:
        text: str = runpy.run_path(str(DOCS / "generated.py"))["page"](name)
    finally:
        sys.path.remove(str(DOCS))
    return text
