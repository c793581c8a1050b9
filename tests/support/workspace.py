"""The distributions of the workspace, by their `pyproject.toml` files; no other list is kept."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Distribution:
    """One distribution as its project table describes it."""

    name: str
    version: str
    #: Its folder from the root, such as `plugins/name_server`.
    folder: str

    @property
    def source(self) -> Path:
        """The folder with its `pyproject.toml`."""
        return ROOT / self.folder

    @property
    def package(self) -> str:
        """The name that it is imported by."""
        return self.name.replace("-", "_")

    @property
    def kind(self) -> str:
        """`core`, `examples`, `integrations` or `plugins`."""
        return self.folder.partition("/")[0]


def distributions() -> list[Distribution]:
    """Return every distribution of the workspace, in the order of the folders."""
    found = []
    for file in sorted([*ROOT.glob("*/pyproject.toml"), *ROOT.glob("*/*/pyproject.toml")]):
        if project := tomllib.loads(file.read_text(encoding="utf-8")).get("project"):
            folder = file.parent.relative_to(ROOT).as_posix()
            found.append(Distribution(project["name"], project["version"], folder))
    return found
