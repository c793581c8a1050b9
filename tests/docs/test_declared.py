"""The page of a plugin names every metric and every setting that it declares."""

import re
import tomllib
from pathlib import Path

import pytest
import tomlkit
from pydantic import SecretStr
from quorate.plugin.declared import Declared, declare
from quorate.plugin.discovery import installed

ROOT = Path(__file__).parents[2]
PLUGINS = [declare(plugin) for plugin in installed()]


def rows_of(declared: Declared) -> set[tuple[str, ...]]:
    """Return the table rows of the plugin's page."""
    rows = re.findall(r"^\| (.+) \|$", page_of(declared).read_text(), re.M)
    return {tuple(row.split(" | ")) for row in rows}


def page_of(declared: Declared) -> Path:
    """Return the README beside the plugin's `pyproject.toml`; core's plugins have one each."""
    plugin = declared.plugin
    if plugin.built_in:
        return ROOT / "docs" / "reference" / f"{plugin.name}.md"
    [readme] = [
        path.parent / "README.md"
        for path in ROOT.glob("*/*/pyproject.toml")
        if tomllib.loads(path.read_text())["project"]["name"] == plugin.distribution
    ]
    return readme


def test_the_example_is_among_the_plugins() -> None:
    assert "greeting" in [declared.plugin.name for declared in PLUGINS]


@pytest.mark.parametrize("declared", PLUGINS, ids=lambda each: each.plugin.name)
def test_every_metric_is_documented(declared: Declared) -> None:
    rows = rows_of(declared)

    for metric in declared.metrics:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        assert (f"`{metric.name}`", metric.kind, labels, metric.help) in rows


@pytest.mark.parametrize("declared", PLUGINS, ids=lambda each: each.plugin.name)
def test_every_setting_is_documented(declared: Declared) -> None:
    rows = rows_of(declared)

    for section in declared.sections:
        for name, field in section.model.model_fields.items():
            value = field.default
            if isinstance(value, SecretStr):
                value = value.get_secret_value()
            default = tomlkit.item(value).as_string()
            assert (f"`{name}`", f"`{default}`", field.description) in rows
