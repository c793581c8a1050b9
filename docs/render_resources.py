"""Renders the reference of the resources of all plugins of this repository."""

from pathlib import Path
from typing import Final

from quorate.cli import installed
from quorate.cli.reference import reference_of

DOCS: Final = Path(__file__).parent


def render() -> str:
    """Return their sections; examples and plugins of others are left out."""
    plugins = installed.find()
    sections = [
        reference_of(each, plugins)
        for each in plugins.declared
        if each.resources
        and (each.plugin.built_in or (DOCS.parent / "plugins" / each.plugin.name).is_dir())
    ]
    return "\n".join(sections)
