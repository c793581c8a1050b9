"""Core knows plugins by their entry points alone: its source names none of their packages."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core" / "src" / "quorate"
#: The packages of the workspace that are not core's.
PACKAGES = sorted(
    path.parent.name
    for kind in ("plugins", "integrations", "examples")
    for path in ROOT.glob(f"{kind}/*/src/*/__init__.py")
)
#: A distribution of this workspace, as an error or a help text would name it.
DISTRIBUTIONS = [name.replace("_", "-") for name in PACKAGES]


def test_there_are_packages_to_look_for() -> None:
    assert {"quorate_coordination", "quorate_mqtt", "quorate_greeting"} <= set(PACKAGES)


def test_no_source_of_core_names_a_plugin() -> None:
    # Strings count too: import_module() needs no import statement.
    named = re.compile(rf"\b({'|'.join([*PACKAGES, *DISTRIBUTIONS])})\b")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted(CORE.rglob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if named.search(line)
    ]
    assert found == []
