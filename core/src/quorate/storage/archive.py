"""The folder of an archive: backups, and the entries since, which restore any later moment.

    archive.json                               its format, and whose it is
    backups/20261123T150405Z/                  a backup, by the moment at which it began
    entries/metadata-0/<first>-<last>.entries  what the shard applied from one index to another
    until/metadata-0                           Unix time in ms until which no entry is missing, and
                                               the index of the last one

Every file is written once, whole and durably, but for those of `until`. The format is a promise.
"""

import json
import struct
import time
import zlib
from calendar import timegm
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from quorate.consensus.messages import Entry, EntryKind
from quorate.storage import backup_stores
from quorate.storage.backup_stores import Place

_FORMAT: Final = 1
_MANIFEST: Final = "archive.json"
_BACKUP: Final = "backup.json"
_NAMED: Final = "%Y%m%dT%H%M%SZ"
_ENTRIES: Final = ".entries"
_MAGIC: Final = b"QRE1"
_CHECKSUM: Final = struct.Struct(">4sI")
_HEAD: Final = struct.Struct(">QQBI")


class ArchiveError(Exception):
    """What was archived is damaged, incomplete or something else; the message says what to do."""


class Complete(NamedTuple):
    """Until when nothing is missing of a shard, in Unix time, and its last index then."""

    until_ms: int
    last_index: int


class Archive:
    """An archive in a directory or an object store."""

    def __init__(self, directory: Place) -> None:
        """Raises `ArchiveError` when it is something else."""
        self.directory: Final = directory
        try:
            said = json.loads((directory / _MANIFEST).read_bytes())
            if said["format"] != _FORMAT:
                raise ValueError(f"format {said['format']} was written by a newer version")
            self.cluster: Final = bytes.fromhex(said["cluster"])
        except FileNotFoundError:
            raise ArchiveError(f"{directory} holds no {_MANIFEST}: it is no archive") from None
        except (ValueError, KeyError, TypeError) as error:
            raise ArchiveError(f"{directory / _MANIFEST} cannot be read: {error}") from None

    @staticmethod
    def exists(directory: Place) -> bool:
        """Return whether a directory is an archive."""
        return (directory / _MANIFEST).exists()

    @classmethod
    def begin(cls, directory: Place, cluster: bytes) -> "Archive":
        """Begin the archive of a cluster, or open it; raises `ArchiveError`."""
        if not cls.exists(directory):
            if backup_stores.names(directory):
                raise ArchiveError(
                    f"{directory} is not empty: name an empty directory, or a new one"
                )
            content = json.dumps({"format": _FORMAT, "cluster": cluster.hex()}) + "\n"
            backup_stores.make(directory)
            backup_stores.write(directory / _MANIFEST, content.encode())
        archive = cls(directory)
        if archive.cluster != cluster:
            raise ArchiveError(f"{directory} is the archive of another cluster: name another one")
        return archive

    # Backups.

    def backups(self) -> list[Place]:
        """Return the finished backups, the oldest first."""
        folder = self.directory / "backups"
        found = [folder / name for name in backup_stores.names(folder)]
        return [each for each in found if (each / _BACKUP).exists()]

    def new_backup(self) -> Place:
        """Return where the next backup goes; what is left of unfinished ones is removed."""
        folder = self._made("backups")
        for name in backup_stores.names(folder):
            if not (folder / name / _BACKUP).exists():
                backup_stores.remove_all(folder / name)
        at_s, there = time.time(), {each.name for each in self.backups()}
        while (name := time.strftime(_NAMED, time.gmtime(at_s))) in there:
            at_s += 1
        return folder / name

    def begun_at_s(self) -> float:
        """Return when the last backup began, by the clock of who made it; 0: there is none."""
        backups = self.backups()
        return timegm(time.strptime(backups[-1].name, _NAMED)) if backups else 0

    # Entries.

    def append(self, shard: str, entries: list[Entry]) -> None:
        """Keep entries of a shard that follow each other, durably."""
        folder = self._made(self._folder(shard))
        name = f"{entries[0].index:020}-{entries[-1].index:020}{_ENTRIES}"
        backup_stores.write(folder / name, encode(entries))

    def reached(self, shard: str, after: int) -> int:
        """Return the index up to which there are entries after another one."""
        for first, last, _ in self._files(shard):
            if first <= after + 1 <= last:
                after = last
        return after

    def entries(self, shard: str, after: int) -> Iterator[Entry]:
        """Yield the entries after an index, without a gap; raises `ArchiveError` for damage."""
        for first, last, path in self._files(shard):
            if first <= after + 1 <= last:
                for entry in decode(path):
                    if entry.index == after + 1:
                        yield entry
                        after = entry.index

    def set_complete(self, shard: str, until_ms: int, index: int) -> None:
        """Keep that nothing is missing of a shard until then, and the index that it had."""
        self._made("until")
        backup_stores.write(self._until(shard), f"{until_ms} {index}".encode())

    def forget(self, shard: str, index: int) -> None:
        """Remove files whose entries are all at or below an index."""
        for _, last, path in self._files(shard):
            if last <= index:
                path.unlink()

    def complete(self, shard: str) -> Complete:
        """Return until when nothing is missing of a shard; zeros: that is not known."""
        path = self._until(shard)
        if not path.exists():
            return Complete(0, 0)
        try:
            # The index was added.
            until_ms, index = map(int, [*path.read_bytes().split(), b"0"][:2])
        except ValueError:
            raise ArchiveError(
                f"{path} is damaged: remove it, and restore without a moment"
            ) from None
        return Complete(until_ms, index)

    def _made(self, folder: str) -> Place:
        """Return a folder, which is there durably."""
        path = self.directory / folder
        backup_stores.make(path)
        return path

    def _folder(self, shard: str) -> str:
        return f"entries/{shard.replace('/', '-')}"

    def _until(self, shard: str) -> Place:
        return self.directory / f"until/{shard.replace('/', '-')}"

    def _files(self, shard: str) -> list[tuple[int, int, Place]]:
        folder, found = self.directory / self._folder(shard), []
        for name in backup_stores.names(folder):
            if name.endswith(_ENTRIES):
                first, _, last = name.removesuffix(_ENTRIES).partition("-")
                found.append((int(first), int(last), folder / name))
        return found


def encode(entries: Iterable[Entry]) -> bytes:
    """Return the content of a file of entries."""
    rows = b"".join(
        _HEAD.pack(each.index, each.term, each.kind, len(each.payload)) + each.payload
        for each in entries
    )
    packed = zlib.compress(rows, 1)
    return _CHECKSUM.pack(_MAGIC, zlib.crc32(packed)) + packed


def decode(path: Place) -> Iterator[Entry]:
    """Yield the entries of a file; raises `ArchiveError` when it is damaged."""
    content = path.read_bytes()
    packed = content[_CHECKSUM.size :]
    if content[: _CHECKSUM.size] != _CHECKSUM.pack(_MAGIC, zlib.crc32(packed)):
        raise ArchiveError(f"{path} is damaged: restore to a moment before it, or get a copy of it")
    rows, at = zlib.decompress(packed), 0
    while at < len(rows):
        index, term, kind, size = _HEAD.unpack_from(rows, at)
        at += _HEAD.size
        yield Entry(index, term, EntryKind(kind), rows[at : at + size])
        at += size
