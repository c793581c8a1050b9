"""The parts of pages that are generated when the documentation is built, and stand in no file.

`python docs/generated.py reference/hooks` prints such a page as the built documentation has it.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import render_access
import render_hooks
import render_plugin_api
import render_plugin_layout
import render_resources

DOCS: Final = Path(__file__).parent

#: By the page: the program of its last part.
PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "explanation/plugin-layout": render_plugin_layout.render,
    "reference/all-resources": render_resources.render,
    "reference/auth": render_access.render,
    "reference/hooks": render_hooks.render,
    "reference/plugin-api": render_plugin_api.render,
}


def whole(name: str, text: str) -> str:
    """Return the text of a page with its generated part in the place of the announcement."""
    if name not in PAGES:
        return text
    announced = (
        f"The rest of this page is generated: `python docs/generated.py {name}` prints it.\n"
    )
    opening, found, rest = text.partition(announced)
    if not found or rest:
        raise SystemExit(f"docs/{name}.md has to end with: {announced}")
    return f"{opening}{PAGES[name]().strip()}\n"


def page(name: str) -> str:
    """Return a page as the built documentation has it."""
    return whole(name, (DOCS / f"{name}.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.stdout.write(page(sys.argv[1]))
