"""Sphinx builds the documentation with this; every warning is an error there."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

import generated

project = "Quorate"
author = "The Quorate authors"
copyright = author
release = version_of("quorate")
version = release

extensions = ["myst_parser", "sphinx_click"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"Quorate {release}"
html_search_scorer = str(Path(__file__).with_name("search_scorer.js"))
exclude_patterns = ["_build"]


def complete(_app: Sphinx, name: str, text: list[str]) -> None:
    """Add the generated part of a page that has one."""
    text[0] = generated.whole(name, text[0])


def setup(app: Sphinx) -> None:
    """Have every page completed when it is read."""
    app.connect("source-read", complete)
