"""Writes the reference of the resources of all plugins here: `python docs/render_resources.py`."""

from pathlib import Path
from typing import Final

from quorate.cli import installed
from quorate.cli.reference import reference_of

DOCS: Final = Path(__file__).parent
PAGE: Final = DOCS / "reference" / "all-resources.md"
OPENING: Final = """\
<!-- Written by docs/render_resources.py, not by hand. -->

# All resources

The built-in domains and the plugins that come with Quorate, in the order of their names, with the
resources that they [declare](../explanation/resources.md). `quorate plugin reference NAME` prints
the same of any installed plugin.

A method whose form is *batch* takes many items and answers each; *single* takes one. *Page* answers
some rows and where the next page begins, *stream* page after page, and *count* a number. A list has
the rows that meet all conditions that are given. Where the verb is *its own*, the method is code of
the plugin.
"""


def render() -> str:
    """Return the page as it ought to be; examples and plugins of others are left out."""
    plugins = installed.find()
    sections = [
        reference_of(each, plugins)
        for each in plugins.declared
        if each.resources
        and (each.plugin.built_in or (DOCS.parent / "plugins" / each.plugin.name).is_dir())
    ]
    return "\n".join([OPENING, *sections])


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
