"""Checkpoints of a shard's database, sent file by file to another replica."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple
from zlib import crc32

from quorate.storage.data.home import Home
from quorate.storage.data.record import KEY, AppliedRecord
from quorate.storage.engine.port import DamagedError, Engine
from quorate.storage.families import APPLIED

_SLICE: Final = 1 << 20


class SnapshotFile(NamedTuple):
    """A file of a checkpoint, with the crc32 of its content."""

    name: str
    size: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a checkpoint: its state, and its files in order."""

    record: AppliedRecord
    files: tuple[SnapshotFile, ...]


class Checkpoint:
    """A copy of the database after an entry; it takes disk space until it is released."""

    def __init__(self, home: Home, folder: str, record: AppliedRecord) -> None:
        self._home: Final = home
        self._folder: Final = folder
        #: The state of the copy.
        self.record: Final = record
        self._manifest: Manifest | None = None

    def manifest(self) -> Manifest:
        """Return the manifest; the first call reads all files and blocks: run it in an executor."""
        if self._manifest is None:
            sizes = self._home.files(self._folder)
            self._manifest = Manifest(
                self.record,
                tuple(
                    SnapshotFile(name, size, _checksum(self._home, self._folder, name, size))
                    for name, size in sorted(sizes.items())
                ),
            )
        return self._manifest

    def read(self, name: str, offset: int, size: int) -> bytes:
        """Return a part of a file of the manifest."""
        return self._home.read(self._folder, name, offset, size)

    def release(self) -> None:
        """Delete the copy, if it is there."""
        self._home.remove(self._folder)


class Incoming:
    """A checkpoint that is received, for `ShardData.install` or to be discarded."""

    def __init__(
        self, home: Home, folder: str, manifest: Manifest, families: Iterable[str]
    ) -> None:
        names = [file.name for file in manifest.files]
        if len({*names}) != len(names) or any(
            not name or "/" in name or "\x00" in name or name in (".", "..") for name in names
        ):
            raise DamagedError("A snapshot's manifest has an invalid file name.")
        self._home: Final = home
        #: The folder of the copy.
        self.folder: Final = folder
        self.manifest: Final = manifest
        self._families: Final = tuple(families)
        self._sizes: Final = {file.name: file.size for file in manifest.files}
        self._received: Final = dict.fromkeys(names, 0)
        #: The verified open database; None before that, and after it was taken.
        self._engine: Engine | None = None
        self._taken = False
        home.make(folder)

    def write(self, name: str, offset: int, content: bytes) -> None:
        """Write the next part of a file; raises `DamagedError` for any other part."""
        received = self._received.get(name)
        if received is None or offset != received or offset + len(content) > self._sizes[name]:
            raise DamagedError(
                f"The part of {name!r} at {offset} does not belong to this snapshot:"
                " discard it and ask for another."
            )
        self._home.write(self.folder, name, offset, content)
        self._received[name] = offset + len(content)

    def finish(self) -> None:
        """Verify and sync the files and open the database; blocks: run it in an executor.

        Raises `DamagedError` when anything differs from what the sender had.
        """
        for name, size, checksum in self.manifest.files:
            if size == 0 and self._received[name] == 0:
                self._home.write(self.folder, name, 0, b"")
            if (
                self._received[name] != size
                or _checksum(self._home, self.folder, name, size) != checksum
            ):
                raise self._differs(f"its file {name}")
        self._home.sync(self.folder)
        engine = self._home.open(self.folder, self._families)
        try:
            if engine.get(APPLIED, KEY) != self.manifest.record.encode():
                raise self._differs("its applied record")
        except Exception:
            engine.close()
            raise
        self._engine = engine

    def take(self) -> Engine:
        """Return the database, once; its files no longer belong to this object."""
        engine = self._engine
        if engine is None:
            raise ValueError("the snapshot is not finished, or was taken")
        self._engine, self._taken = None, True
        return engine

    def discard(self) -> None:
        """Delete what was received, unless it was taken."""
        if self._taken:
            return
        if self._engine is not None:
            self._engine.close()
            self._engine = None
        self._home.remove(self.folder)

    def _differs(self, what: str) -> DamagedError:
        return DamagedError(
            f"A snapshot at index {self.manifest.record.position.index} was received damaged:"
            f" {what} differs from the sender's. Discard it and ask for another."
        )


def _checksum(home: Home, folder: str, name: str, size: int) -> int:
    found = 0
    for offset in range(0, size, _SLICE):
        found = crc32(home.read(folder, name, offset, min(_SLICE, size - offset)), found)
    return found
