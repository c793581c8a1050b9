from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from quorate.consensus.journal import Position
from quorate.storage.data.checkpoint import Checkpoint, Incoming
from quorate.storage.data.home import DiskHome, Home, MemoryHome
from quorate.storage.data.record import EMPTY
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch


class Homes:
    """Shards' data of one kind, closed at the end; what a killed process had open is closed too."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._homes: dict[str, Home] = {}
        self._opened: list[ShardData] = []

    def home(self, name: str = "one") -> Home:
        if name not in self._homes:
            made: Home = MemoryHome() if self._path is None else DiskHome(self._path / name)
            self._homes[name] = made
        return self._homes[name]

    def open(self, name: str = "one", families: Sequence[str] = ("rows",)) -> ShardData:
        data = ShardData.open(self.home(name), families)
        self._opened.append(data)
        return data

    def kill(self) -> None:
        """End the process once its rows are flushed, whatever else it was about to do."""
        for data in self._opened:
            data._database.close()
        self._opened.clear()

    def close(self) -> None:
        for data in self._opened:
            data.close()


@pytest.fixture(params=["disk", "memory"])
def homes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Homes]:
    found = Homes(tmp_path if request.param == "disk" else None)
    yield found
    found.close()


class Written:
    """What tests do with data, and what it then holds."""

    @staticmethod
    def apply(data: ShardData, *indexes: int, term: int = 1, family: str = "rows") -> None:
        """Write one row for each index, and take away the one of ten entries before."""
        for index in indexes:
            batch = Batch()
            batch.put(family, b"%06d" % index, b"value of %d" % index)
            batch.delete(family, b"%06d" % (index - 10))
            record = replace(EMPTY, position=Position(index, term), now_ms=index, checksum=index)
            data.commit(batch, record)

    @staticmethod
    def rows(data: ShardData, family: str = "rows") -> list[int]:
        return [int(key) for key, _ in data.iterate(family, b"", None)]

    @staticmethod
    def digest(data: ShardData, max_rows: int = 7) -> str:
        digest = data.digest()
        while not digest.step(max_rows):
            pass
        return digest.hexdigest()

    @staticmethod
    def send(checkpoint: Checkpoint, data: ShardData, part: int = 1_000) -> Incoming:
        """Give a checkpoint to another replica, all but the finish."""
        manifest = checkpoint.manifest()
        incoming = data.incoming(manifest)
        for name, size, _ in manifest.files:
            for offset in range(0, size, part):
                incoming.write(
                    name, offset, checkpoint.read(name, offset, min(part, size - offset))
                )
        return incoming


@pytest.fixture
def written() -> Written:
    return Written()
