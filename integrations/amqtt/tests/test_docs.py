"""The how-to of the broker names its settings with their defaults."""

from __future__ import annotations

import re
from pathlib import Path

from quorate_amqtt.config import Settings

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "run-an-mqtt-broker.md"


def test_every_setting_is_told_with_its_default() -> None:
    _, _, table = PAGE.read_text(encoding="utf-8").partition("## Settings")
    table = table.partition("\n## ")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", table, re.MULTILINE))

    assert list(told) == list(Settings.model_fields)
    for name, field in Settings.model_fields.items():
        if isinstance(field.default, bool | int | float):
            assert (
                told[name].lower() == f"{field.default:g}".lower()
                or told[name] == str(field.default).lower()
            ), name


def test_the_file_of_the_how_to_is_one(tmp_path: Path) -> None:
    [text] = re.findall(
        r"^```yaml\n(.+?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    file = tmp_path / "north.yaml"
    file.write_text(text)

    assert Settings.of_file(file).listeners["default"].bind == "127.0.0.1:1883"
