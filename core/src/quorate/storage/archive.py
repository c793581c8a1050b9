"""The directory of an archive: backups, and the entries since, which restore any later moment.

    archive.json                               its format, and whose it is
    backups/20261123T150405Z/                  a backup, by the moment at which it began
    entries/metadata-0/<first>-<last>.entries  what the shard applied from one index to another
    until/metadata-0                           Unix time in ms until which no entry is missing

Every file is written once, whole and durably, but for those of `until`. The format is a promise.
"""

import json
import struct
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from quorate.storage import durably

_FORMAT: Final = 1
_MANIFEST: Final = "archive.json"
_BACKUP: Final = "backup.json"
_NAMED: Final = "%Y%m%dT%H%M%SZ"
_MAGIC: Final = b"QRE1"
_CHECKSUM: Final = struct.Struct(">4sI")
_HEAD: Final = struct.Struct(">QQBI")


class ArchiveError(Exception):
    """What was archived is damaged, incomplete or something else; the message says what to do."""


class ArchivedEntry(NamedTuple):
    """An entry of a shard's log."""

    index: int  # type: ignore[assignment]  # it hides the method of tuples
    term: int
    kind: int
    payload: bytes


class Archive:
    """An archive in a directory."""

    def __init__(self, directory: Path) -> None:
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
    def exists(directory: Path) -> bool:
        """Return whether a directory is an archive."""
        return (directory / _MANIFEST).exists()

    @classmethod
    def begin(cls, directory: Path, cluster: bytes) -> "Archive":
        """Begin the archive of a cluster, or open it; raises `ArchiveError`."""
        if not cls.exists(directory):
            directory.mkdir(parents=True, exist_ok=True)
            if any(directory.iterdir()):
                raise ArchiveError(
                    f"{directory} is not empty: name an empty directory, or a new one"
                )
            content = json.dumps({"format": _FORMAT, "cluster": cluster.hex()}) + "\n"
            durably.replace(directory / _MANIFEST, content.encode())
        archive = cls(directory)
        if archive.cluster != cluster:
            raise ArchiveError(f"{directory} is the archive of another cluster: name another one")
        return archive

    # Backups.

    def backups(self) -> list[Path]:
        """Return the finished backups, the oldest first."""
        return sorted(path.parent for path in self.directory.glob(f"backups/*/{_BACKUP}"))

    def new_backup(self) -> Path:
        """Return where the next backup goes."""
        return self.directory / "backups" / time.strftime(_NAMED, time.gmtime())

    # Entries.

    def append(self, shard: str, entries: list[ArchivedEntry]) -> None:
        """Keep entries of a shard that follow each other, durably."""
        folder = self._folder(shard)
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{entries[0].index:020}-{entries[-1].index:020}.entries"
        durably.replace(folder / name, encode(entries))

    def reached(self, shard: str, after: int) -> int:
        """Return the index up to which there are entries after another one."""
        for first, last, _ in self._files(shard):
            if first <= after + 1 <= last:
                after = last
        return after

    def entries(self, shard: str, after: int) -> Iterator[ArchivedEntry]:
        """Yield the entries after an index, without a gap; raises `ArchiveError` for damage."""
        for first, last, path in self._files(shard):
            if first <= after + 1 <= last:
                for entry in decode(path):
                    if entry.index == after + 1:
                        yield entry
                        after = entry.index

    def set_complete(self, shard: str, until_ms: int) -> None:
        """Keep that nothing is missing of a shard until then."""
        path = self.directory / "until" / shard
        path.parent.mkdir(exist_ok=True)
        durably.replace(path, str(until_ms).encode())

    def complete_until_ms(self, shard: str) -> int:
        """Return until when nothing is missing of a shard; 0: not known."""
        path = self.directory / "until" / shard
        return int(path.read_text()) if path.exists() else 0

    def forget(self, shard: str, index: int) -> None:
        """Remove files whose entries are all at or below an index."""
        for _, last, path in self._files(shard):
            if last <= index:
                path.unlink()

    def _folder(self, shard: str) -> Path:
        return self.directory / "entries" / shard

    def _files(self, shard: str) -> list[tuple[int, int, Path]]:
        found = []
        for path in sorted(self._folder(shard).glob("*.entries")):
            first, _, last = path.stem.partition("-")
            found.append((int(first), int(last), path))
        return found


def encode(entries: Iterable[ArchivedEntry]) -> bytes:
    """Return the content of a file of entries."""
    rows = b"".join(
        _HEAD.pack(each.index, each.term, each.kind, len(each.payload)) + each.payload
        for each in entries
    )
    packed = zlib.compress(rows, 1)
    return _CHECKSUM.pack(_MAGIC, zlib.crc32(packed)) + packed


def decode(path: Path) -> Iterator[ArchivedEntry]:
    """Yield the entries of a file; raises `ArchiveError` when it is damaged."""
    content = path.read_bytes()
    packed = content[_CHECKSUM.size :]
    if content[: _CHECKSUM.size] != _CHECKSUM.pack(_MAGIC, zlib.crc32(packed)):
        raise ArchiveError(f"{path} is damaged: restore to a moment before it, or get a copy of it")
    rows, at = zlib.decompress(packed), 0
    while at < len(rows):
        index, term, kind, size = _HEAD.unpack_from(rows, at)
        at += _HEAD.size
        yield ArchivedEntry(index, term, kind, rows[at : at + size])
        at += size
