"""Transfers a backup: a sequence of parts of files, and the directory that receives them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

from quorate.storage import backup_stores, durably
from quorate.storage.backup_stores import Place
from quorate.v1.admin_pb2 import BackupPart

#: The file that comes last: a directory without it is no backup.
MANIFEST: Final = "backup.json"
#: Maximum bytes of a part.
PART_BYTES: Final = 1 << 20


class BackupError(Exception):
    """A backup cannot be made, read or restored; the text names the remedy."""


def slices(size: int) -> Iterator[tuple[int, int]]:
    """Return the offset and the length of each part of a file; an empty file has one."""
    yield 0, min(PART_BYTES, size)
    for offset in range(PART_BYTES, size, PART_BYTES):
        yield offset, min(PART_BYTES, size - offset)


class BackupTarget:
    """A directory or a folder of a store that becomes a backup, part by part; all of it blocks.

    An incomplete one is no backup: the manifest is written last, when everything else is durable.
    """

    def __init__(self, directory: Place) -> None:
        """Raises `BackupError` for a directory that is not empty."""
        if backup_stores.names(directory):
            raise BackupError(f"{directory} is not empty: name an empty directory, or a new one.")
        backup_stores.make(directory)
        #: The complete files, and the bytes of all.
        self.files = self.bytes = 0
        #: Whether the manifest was received.
        self.finished = False
        self._directory: Final = directory
        self._path = ""
        #: The bytes of the file at that path: those that came, and all.
        self._taken = self._size = 0
        self._manifest = b""
        #: The file that is being written.
        self._file: Final = ExitStack()
        self._write: Callable[[bytes], object] = bytes

    def take(self, part: BackupPart) -> None:
        """Write the part that follows the one before; raises `BackupError` for any other."""
        begins = self._taken == self._size
        if begins:
            fits = part.offset == 0 and not self.finished and _is_of_a_backup(part.path)
        else:
            fits = (part.path, part.offset) == (self._path, self._taken)
        if not fits or part.offset + len(part.content) > part.size:
            raise BackupError(
                f"the backup is incomplete: a part of {part.path!r} at {part.offset} came after"
                f" byte {self._taken} of {self._path!r}; empty {self._directory}, then run it again"
            )
        if part.path == MANIFEST:
            self._manifest += part.content
        else:
            if begins:
                place = self._directory / part.path
                self._write = self._file.enter_context(backup_stores.writing(place))
            self._write(part.content)
        self._path, self._taken, self._size = part.path, part.offset + len(part.content), part.size
        self.bytes += len(part.content)
        if self._taken == self._size:
            self._end_file()

    def close(self) -> None:
        """Give up a file that is incomplete; the others stay."""
        with suppress(BackupError), self._file:
            raise BackupError("the rest of the file does not come")

    def _end_file(self) -> None:
        self._file.close()
        self.files += 1
        if self._path == MANIFEST:
            if isinstance(self._directory, Path):
                for folder in (*self._directory.iterdir(), self._directory):
                    durably.sync_directory(folder)
            backup_stores.write(self._directory / MANIFEST, self._manifest)
            self.finished = True


def _is_of_a_backup(path: str) -> bool:
    """Whether a path is that of the manifest, or of a file in a folder of the directory."""
    steps = path.split("/")
    return path == MANIFEST or (len(steps) == 2 and not {"", ".", ".."} & {*steps})
