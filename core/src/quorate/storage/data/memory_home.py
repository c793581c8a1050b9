"""A shard's directory in memory, with crashes that lose what a real one could lose."""

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Final

from quorate.observe.failpoints import failpoint
from quorate.storage.engine.memory import Files, MemoryDisk, MemoryEngine
from quorate.storage.engine.port import Engine


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

    def kill(self) -> None:
        """Crash the process: all writes remain."""
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
        """Return the pointer's content; None if it was never written."""
        return self._pointers[-1]

    def point(self, content: bytes) -> None:
        """Replace the pointer by a rename, durably."""
        failpoint("pointer.written")
        self._pointers.append(content)
        failpoint("pointer.renamed")
        self.settle_pointer()

    def settle_pointer(self) -> None:
        """Make the pointer durable as it is."""
        del self._pointers[:-1]

    def folders(self) -> tuple[str, ...]:
        """Return the names of the folders, in order."""
        return tuple(sorted({*self.disks, *map(str, self._files)}))

    def open(self, folder: str, families: Iterable[str]) -> Engine:
        """Open the database in a folder, or create it."""
        if folder not in self.disks:
            self.disks[folder] = MemoryDisk.restore(self._files.get(Path(folder), {}), self._files)
        return MemoryEngine(self.disks[folder], families)

    def checkpoint(self, engine: Engine, folder: str) -> None:
        """Copy an open database of this home."""
        engine.checkpoint(Path(folder))

    def make(self, folder: str) -> None:
        """Create an empty folder."""
        self._files[Path(folder)] = {}
        self._unsynced.add(Path(folder))

    def write(self, folder: str, name: str, offset: int, content: bytes) -> None:
        """Write a part of a file, unsynced."""
        files = self._files[Path(folder)]
        old = files.get(name, b"") if offset else b""
        files[name] = old[:offset].ljust(offset, b"\x00") + content + old[offset + len(content) :]

    def sync(self, folder: str) -> None:
        """Make a folder's files durable."""
        self._unsynced.discard(Path(folder))

    def files(self, folder: str) -> dict[str, int]:
        """Return the size of each file in a folder."""
        return {name: len(content) for name, content in sorted(self._files[Path(folder)].items())}

    def read(self, folder: str, name: str, offset: int, size: int) -> bytes:
        """Read a part of a file."""
        return self._files[Path(folder)][name][offset : offset + size]

    def remove(self, folder: str) -> None:
        """Remove a folder, if it is there."""
        self.disks.pop(folder, None)
        self._files.pop(Path(folder), None)
        self._unsynced.discard(Path(folder))

    def destroy(self) -> None:
        """Remove everything."""
        for folder in self.folders():
            self.remove(folder)
        self._pointers = [None]
