"""The directory of a shard: a folder per database, and a pointer to the current one.

Its twin in memory has crashes that lose what a real one could lose.
"""

# What a method does is documented at its port, `Home`.
# ruff: noqa: D102

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Final, Protocol

from quorate.observe.failpoints import failpoint
from quorate.storage import durably
from quorate.storage.engine.memory import Files, MemoryDisk, MemoryEngine
from quorate.storage.engine.options import Budget
from quorate.storage.engine.port import DamagedError, Engine
from quorate.storage.engine.rocks import RocksEngine

_POINTER: Final = "pointer"


class Home(Protocol):
    """Folders of files. All methods may block, and raise `OSError` or `EngineError`."""

    def pointer(self) -> bytes | None:
        """Return the pointer's content; None if it was never written."""

    def point(self, content: bytes) -> None:
        """Replace the pointer durably, together with all folders created before."""

    def settle_pointer(self) -> None:
        """Make the pointer durable as it is."""

    def folders(self) -> tuple[str, ...]:
        """Return the names of the folders, in order."""

    def open(self, folder: str, families: Iterable[str]) -> Engine:
        """Open the database in a folder, or create it."""

    def checkpoint(self, engine: Engine, folder: str) -> None:
        """Copy an open database of this home into a new folder."""

    def fork(self, engine: Engine, home: "Home", folder: str) -> None:
        """Copy an open database of this home into a new folder of another home."""

    def make(self, folder: str) -> None:
        """Create an empty folder."""

    def write(self, folder: str, name: str, offset: int, content: bytes) -> None:
        """Write a part of a file, unsynced."""

    def sync(self, folder: str) -> None:
        """Make a folder's files durable."""

    def files(self, folder: str) -> dict[str, int]:
        """Return the size of each file in a folder."""

    def read(self, folder: str, name: str, offset: int, size: int) -> bytes:
        """Read a part of a file."""

    def remove(self, folder: str) -> None:
        """Remove a folder, if it is there."""

    def destroy(self) -> None:
        """Remove everything, when the replica is deleted."""


class DiskHome:
    """A directory with a subdirectory per folder."""

    def __init__(
        self,
        path: Path,
        budget: Budget | None = None,
        damaged: Callable[[DamagedError], None] | None = None,
    ) -> None:
        """Create it; `damaged` is called in any thread when a database in use is damaged."""
        self._path: Final = path
        self._budget: Final = budget
        self._damaged: Final = damaged
        path.mkdir(parents=True, exist_ok=True)

    def __str__(self) -> str:
        return str(self._path)

    def pointer(self) -> bytes | None:
        try:
            return (self._path / _POINTER).read_bytes()
        except FileNotFoundError:
            return None

    def point(self, content: bytes) -> None:
        """Replace the pointer by a rename, durably."""
        path = self._path / _POINTER
        drawn = path.with_suffix(".new")
        durably.write(drawn, content)
        failpoint("pointer.written")
        drawn.replace(path)
        failpoint("pointer.renamed")
        durably.sync_directory(self._path)

    def settle_pointer(self) -> None:
        """Sync a rename made before a restart; its content was synced before."""
        durably.sync_directory(self._path)

    def folders(self) -> tuple[str, ...]:
        return tuple(sorted(each.name for each in self._path.iterdir() if each.is_dir()))

    def open(self, folder: str, families: Iterable[str]) -> Engine:
        return RocksEngine(self._path / folder, families, self._budget, damaged=self._damaged)

    def checkpoint(self, engine: Engine, folder: str) -> None:
        """Copy an open database by hard links."""
        engine.checkpoint(self._path / folder)

    def fork(self, engine: Engine, home: Home, folder: str) -> None:
        """Copy an open database by hard links."""
        assert isinstance(home, DiskHome)
        engine.checkpoint(home._path / folder)

    def make(self, folder: str) -> None:
        (self._path / folder).mkdir()

    def write(self, folder: str, name: str, offset: int, content: bytes) -> None:
        with (self._path / folder / name).open("r+b" if offset else "wb") as file:
            file.seek(offset)
            file.write(content)

    def sync(self, folder: str) -> None:
        directory = self._path / folder
        for path in directory.iterdir():
            with path.open("rb") as file:
                os.fsync(file.fileno())
        durably.sync_directory(directory)

    def files(self, folder: str) -> dict[str, int]:
        directory = self._path / folder
        return {path.name: path.stat().st_size for path in sorted(directory.iterdir())}

    def read(self, folder: str, name: str, offset: int, size: int) -> bytes:
        with (self._path / folder / name).open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def remove(self, folder: str) -> None:
        _remove(self._path / folder)

    def destroy(self) -> None:
        """Remove the directory, the pointer first."""
        (self._path / _POINTER).unlink(missing_ok=True)
        durably.sync_directory(self._path)
        _remove(self._path)


def _remove(path: Path) -> None:
    if path.exists():
        shutil.rmtree(path)


class MemoryHome:
    """Survives the process; a power loss reverts or tears unsynced writes."""

    def __init__(self) -> None:
        #: The durable pointer, and those that replaced it unsynced.
        self._pointers: list[bytes | None] = [None]
        #: Folders of plain files: checkpoints and received snapshots.
        self._files: Final[dict[Path, Files]] = {}
        self._unsynced: Final[set[Path]] = set()
        #: The opened databases by folder.
        self.disks: Final[dict[str, MemoryDisk]] = {}

    def __str__(self) -> str:
        return "in memory"

    def stop(self) -> None:
        """End the process after its rows were flushed."""
        for disk in self.disks.values():
            disk.sync(disk.position)
        self.kill()

    def kill(self) -> None:
        """Crash the process: rows that were not flushed are gone."""
        for disk in self.disks.values():
            disk.kill()

    def lose_power(self, rng: Random) -> None:
        """Crash the machine: unsynced renames, files and batches remain or are lost."""
        self._pointers = [rng.choice(self._pointers)]
        for disk in self.disks.values():
            disk.lose_power(rng)
        for folder in sorted(self._unsynced):
            files = self._files[folder]
            for name, content in files.items():
                files[name] = content[: rng.choice([0, len(content), rng.randint(0, len(content))])]
            # A database opened on such files keeps what is left of them.
            self.disks.pop(str(folder), None)

    def pointer(self) -> bytes | None:
        return self._pointers[-1]

    def point(self, content: bytes) -> None:
        failpoint("pointer.written")
        self._pointers.append(content)
        failpoint("pointer.renamed")
        self.settle_pointer()

    def settle_pointer(self) -> None:
        del self._pointers[:-1]

    def folders(self) -> tuple[str, ...]:
        return tuple(sorted({*self.disks, *map(str, self._files)}))

    def open(self, folder: str, families: Iterable[str]) -> Engine:
        if folder not in self.disks:
            self.disks[folder] = MemoryDisk.restore(self._files.get(Path(folder), {}), self._files)
        return MemoryEngine(self.disks[folder], families)

    def checkpoint(self, engine: Engine, folder: str) -> None:
        engine.checkpoint(Path(folder))

    def fork(self, engine: Engine, home: Home, folder: str) -> None:
        assert isinstance(home, MemoryHome)
        engine.checkpoint(Path(folder + ".forked"))
        home._files[Path(folder)] = self._files.pop(Path(folder + ".forked"))
        home._unsynced.add(Path(folder))

    def make(self, folder: str) -> None:
        self._files[Path(folder)] = {}
        self._unsynced.add(Path(folder))

    def write(self, folder: str, name: str, offset: int, content: bytes) -> None:
        files = self._files[Path(folder)]
        old = files.get(name, b"") if offset else b""
        files[name] = old[:offset].ljust(offset, b"\x00") + content + old[offset + len(content) :]

    def sync(self, folder: str) -> None:
        self._unsynced.discard(Path(folder))

    def files(self, folder: str) -> dict[str, int]:
        return {name: len(content) for name, content in sorted(self._files[Path(folder)].items())}

    def read(self, folder: str, name: str, offset: int, size: int) -> bytes:
        return self._files[Path(folder)][name][offset : offset + size]

    def remove(self, folder: str) -> None:
        self.disks.pop(folder, None)
        self._files.pop(Path(folder), None)
        self._unsynced.discard(Path(folder))

    def destroy(self) -> None:
        for folder in self.folders():
            self.remove(folder)
        self._pointers = [None]
