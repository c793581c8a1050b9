"""The reference of the resources has a section for each of them."""

from __future__ import annotations

import re
from pathlib import Path

from quorate.plugin.declared import declare
from quorate.plugin.discovery import installed

from tests.support.pages import page

ROOT = Path(__file__).parents[2]


def test_every_resource_has_its_section() -> None:
    families = [
        resource.family
        for plugin in installed()
        if plugin.built_in or (ROOT / "plugins" / plugin.name).is_dir()
        for resource in declare(plugin).resources
    ]

    sections = re.findall(r"^### `(.+)`$", page("reference/all-resources"), re.MULTILINE)
    assert sections == families
    assert {"tenant.tenants", "mqtt.topics", "connector.tasks"} <= set(families)
