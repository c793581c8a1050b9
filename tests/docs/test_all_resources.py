"""The reference of the resources is what their declarations and `.proto` files give."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from quorate.plugin.declared import declare
from quorate.plugin.discovery import installed

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "all-resources.md"


def test_the_page_is_what_the_declarations_give() -> None:
    render = runpy.run_path(str(ROOT / "docs" / "render_resources.py"))["render"]

    assert render() == PAGE.read_text(encoding="utf-8"), "run: python docs/render_resources.py"


def test_every_resource_has_its_section() -> None:
    families = [
        resource.family
        for plugin in installed()
        if plugin.built_in or (ROOT / "plugins" / plugin.name).is_dir()
        for resource in declare(plugin).resources
    ]

    sections = re.findall(r"^### `(.+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sections == families
    assert {"tenant.tenants", "mqtt.topics", "connector.tasks"} <= set(families)
