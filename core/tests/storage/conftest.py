from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from quorate.storage.engine.memory import Files, MemoryDisk, MemoryEngine
from quorate.storage.engine.port import Engine
from quorate.storage.engine.rocks import RocksEngine


class Databases:
    """Opens databases of one kind, and closes whatever a test left open."""

    def __init__(self, opener: Callable[[str, list[str]], Engine]) -> None:
        self._opener = opener
        self._opened: list[Engine] = []

    def open(self, name: str = "one", families: tuple[str, ...] = ("log",)) -> Engine:
        engine = self._opener(name, list(families))
        self._opened.append(engine)
        return engine

    def close(self) -> None:
        for engine in self._opened:
            engine.close()


@pytest.fixture(params=["rocks", "memory"])
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Databases]:
    disks: dict[str, MemoryDisk] = {}
    folders: dict[Path, Files] = {}

    def rocks(name: str, families: list[str]) -> Engine:
        return RocksEngine(tmp_path / name, families)

    def memory(name: str, families: list[str]) -> Engine:
        if name not in disks:
            disks[name] = MemoryDisk.restore(folders.get(tmp_path / name, {}), folders)
        return MemoryEngine(disks[name], families)

    found = Databases(rocks if request.param == "rocks" else memory)
    yield found
    found.close()
