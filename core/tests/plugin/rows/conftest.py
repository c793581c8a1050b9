"""Plugins of row classes that a test writes, and the code that is generated from them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import ModuleType

import pytest
from quorate.cli import protos

_numbers = count()

HEAD = """
from __future__ import annotations
from typing import Annotated
from quorate.plugin import Rejected, Txn
from quorate.plugin.rows import *
from quorate.v1.tenant_pb2 import Tenant

app = Plugin("shelves")
"""


@dataclass(frozen=True)
class Written:
    """A distribution whose package has a name of its own: protobuf knows each file for ever."""

    folder: Path
    package: str

    def say(self, source: str) -> None:
        """Write the plugin's module."""
        path = self.folder / "src" / self.package
        path.mkdir(parents=True, exist_ok=True)
        (path / "__init__.py").touch()
        (path / "plugin.py").write_text(HEAD + source)
        (self.folder / "pyproject.toml").write_text(
            f'[project]\nname = "acme-shelves"\n'
            f'[project.entry-points.quorate]\nshelves = "{self.package}.plugin"\n'
        )
        self.forget()

    def forget(self) -> None:
        """Let the next import read the sources again."""
        invalidate_caches()
        for name in [each for each in sys.modules if each.partition(".")[0] == self.package]:
            del sys.modules[name]

    def generate(self) -> str:
        """Write the generated code, and return the `.proto` file."""
        if find_spec("grpc_tools") is None:
            pytest.skip("grpcio-tools holds protobuf below 6: the tox env `proto` runs this test")
        source = protos.source_of(self.folder)
        protos.write(source, protos.generate(source))
        self.forget()
        return (self.folder / "src" / self.package / "v1" / "rows.proto").read_text()

    def module(self, name: str = "plugin") -> ModuleType:
        """Import a module of the package."""
        return import_module(f"{self.package}.{name}")


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    """A distribution without sources yet."""
    found = Written(tmp_path / "shelves", f"quorate_shelves_{next(_numbers)}")
    (found.folder / "src").mkdir(parents=True)
    # Python trusts the time of a source that changes twice within a second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(found.folder / "src"))
    yield found
    found.forget()
