"""Sphinx builds the documentation with this; every warning is an error there."""

from importlib.metadata import version as version_of

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
exclude_patterns = ["_build"]
