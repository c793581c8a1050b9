from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from quorate.plugin.catalog import Catalog, assemble
from quorate.plugin.declared import declare
from quorate.plugin.discovery import Plugin
from quorate.testing.program import Program


def catalog_with(module: ModuleType) -> Catalog:
    """Return the catalog of the plugin, unchecked: tests break it on purpose."""
    plugin = Plugin(name="sample", distribution="s", version="1", module=module)
    return assemble([declare(plugin)])


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    program = Program("it", tmp_path / "it.log")
    yield program
    program.close()


@pytest.fixture
def plugins_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent / "plugins")


@pytest.fixture
def sample(plugins_on_path: None) -> ModuleType:
    return import_module("kit_sample.plugin")


@pytest.fixture
def catalog_of_module() -> Callable[[ModuleType], Catalog]:
    return catalog_with


@pytest.fixture
def catalog(sample: ModuleType) -> Catalog:
    return catalog_with(sample)
