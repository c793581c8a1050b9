"""Transfers a backup: a sequence of parts of files, and the directory that receives them."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from quorate.storage import durably

#: The file that comes last: a directory without it is no backup.
MANIFEST: Final = "backup.json"
#: Maximum bytes of a part.
PART_BYTES: Final = 1 << 20

_UNFINISHED: Final = ".new"


class BackupError(Exception):
    """A backup cannot be made, read or restored; the text names the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePart:
    """The next bytes of a file; an empty file is one part."""

    #: Where in the backup's directory, with slashes.
    path: str
    offset: int
    content: bytes
    #: The size of the whole file.
    size: int


def slices(size: int) -> Iterator[tuple[int, int]]:
    """Return the offset and the length of each part of a file; an empty file has one."""
    yield 0, min(PART_BYTES, size)
    for offset in range(PART_BYTES, size, PART_BYTES):
        yield offset, min(PART_BYTES, size - offset)


class BackupTarget:
    """A directory that becomes a backup, part by part; everything here blocks.

    An incomplete directory is no backup: the manifest is written last, when everything else is
    durable.
    """

    def __init__(self, directory: Path) -> None:
        """Raises `BackupError` for a directory that is not empty."""
        directory.mkdir(parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise BackupError(f"{directory} is not empty: name an empty directory, or a new one.")
        #: Whether the manifest was received.
        self.finished = False
        self._directory: Final = directory
        self._path = ""
        #: Missing bytes of the file at that path.
        self._left = 0
        self._taken = 0
        self._file: IO[bytes] | None = None

    def take(self, part: FilePart) -> None:
        """Write the part that follows the one before; raises `BackupError` for any other."""
        if self._left:
            fits = (part.path, part.offset) == (self._path, self._taken)
        else:
            fits = part.offset == 0 and not self.finished and _is_of_a_backup(part.path)
        if not fits or part.offset + len(part.content) > part.size:
            raise BackupError(
                f"a part of {part.path!r} at {part.offset} is not the next one in"
                f" {self._directory}: remove the directory, and back up again."
            )
        self._write(part)
        self._path, self._taken = part.path, part.offset + len(part.content)
        self._left = part.size - self._taken
        if not self._left:
            self._end_file()

    def close(self) -> None:
        """Close the current file; received data stays."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, part: FilePart) -> None:
        if self._file is None:
            path = self._directory / part.path
            if part.path == MANIFEST:
                path = path.with_suffix(_UNFINISHED)
            path.parent.mkdir(exist_ok=True)
            self._file = path.open("xb")
        self._file.write(part.content)

    def _end_file(self) -> None:
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self.close()
        if self._path != MANIFEST:
            return
        for folder in self._directory.iterdir():
            if folder.is_dir():
                durably.sync_directory(folder)
        durably.sync_directory(self._directory)
        manifest = self._directory / MANIFEST
        manifest.with_suffix(_UNFINISHED).rename(manifest)
        durably.sync_directory(self._directory)
        self.finished = True


def _is_of_a_backup(path: str) -> bool:
    """Whether a path is that of the manifest, or of a file in a folder of the directory."""
    steps = path.split("/")
    return path == MANIFEST or (len(steps) == 2 and not {"", ".", ".."} & {*steps})
