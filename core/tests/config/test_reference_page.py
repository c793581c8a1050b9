"""Holds docs/reference/configuration.md to the code."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import tomlkit
from pydantic import BaseModel, SecretStr
from quorate.config import ConfigError, CoreSections, load
from quorate.config.members import GroupSection

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "configuration.md"
ROW = re.compile(r"^\| `([a-z_.<>]+)` \| (.+?) \| (.+) \|$", re.MULTILINE)


def settings_of(model: BaseModel, path: str) -> Iterator[tuple[str, str, str]]:
    for name, field in type(model).model_fields.items():
        default = getattr(model, name)
        shown = "not set" if default is None else f"`{written(default)}`"
        yield f"{path}.{name}", shown, field.description or ""


def written(value: object) -> str:
    match value:
        case SecretStr():
            return tomlkit.item(value.get_secret_value()).as_string()
        case Path():
            return tomlkit.item(str(value)).as_string()
        case tuple():
            return f"[{', '.join(map(written, value))}]"
        case Mapping():
            return "{}"
        case _:
            return tomlkit.item(value).as_string()


def expected() -> list[tuple[str, str, str]]:
    core = CoreSections()
    rows = [
        row
        for name in CoreSections.model_fields
        if isinstance(section := getattr(core, name), BaseModel)
        for row in settings_of(section, name)
    ]
    return [*rows, *settings_of(GroupSection(), "groups.<name>")]


def test_table_names_every_setting_with_its_default_and_description() -> None:
    assert ROW.findall(PAGE.read_text()) == expected()


def test_example_file_is_accepted(tmp_path: Path) -> None:
    example = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    file = tmp_path / "quorate.toml"
    file.write_text(example)
    settings = load(file, {}, {})
    assert settings.node.name == "q1"
    assert settings.groups["offset"].shards == tomllib.loads(example)["groups"]["offset"]["shards"]


def test_mistakes_are_told_as_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = re.findall(r"```text\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    monkeypatch.chdir(tmp_path)
    file = Path("quorate.toml")
    file.write_text('[node]\nprot = 1\n\n[timing]\nheartbeat_ms = "100"\n')
    with pytest.raises(ConfigError) as caught:
        load(file, {}, {"QUORATE__LIMITS__BATCH_ITEMS": "many"})
    assert str(caught.value) == shown.strip()
