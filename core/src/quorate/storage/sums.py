"""Checksums of a database's files, by which a later reader finds what has changed on the disk."""

import json
import os
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

from quorate.storage.engine.port import DamagedError

_SLICE: Final = 1 << 20
#: Files that are written once, and those that are only ever written at their end.
_TABLES: Final = (".sst", ".blob")
_KINDS: Final = (*_TABLES, ".log")
_KEPT: Final = "tables.sums"
_CURRENT: Final = "CURRENT"
_MANIFEST: Final = "MANIFEST-"


class _Sum(NamedTuple):
    size: int
    checksum: int


class FileSums:
    """The files of one directory as they were when they were read before.

    RocksDB checks a block only when it reads it from the disk, which may be long after it went bad.
    """

    def __init__(self, directory: Path) -> None:
        """Go on with the sums of tables that were kept there: a table never grows."""
        self.directory: Final = directory
        self._kept: Final = directory / _KEPT
        self._known: dict[str, _Sum] = {}
        with suppress(OSError, ValueError, TypeError, AttributeError):
            stored = json.loads(self._kept.read_bytes())
            self._known = {str(name): _Sum(*map(int, found)) for name, found in stored.items()}

    def read(self) -> Iterator[int]:
        """Read all files and compare them, yielding the bytes read in each step, which blocks.

        Raises `DamagedError` where a file is not what it was.
        """
        self._check_current()
        found: dict[str, _Sum] = {}
        for path in sorted(self.directory.iterdir()):
            if path.suffix in _KINDS or path.name.startswith(_MANIFEST):
                try:
                    found[path.name] = yield from self._read(path)
                except FileNotFoundError:
                    # It was no longer needed.
                    continue
        self._known, before = found, self._known
        tables = {name: each for name, each in found.items() if name.endswith(_TABLES)}
        if tables != {name: each for name, each in before.items() if name.endswith(_TABLES)}:
            # What a power loss leaves of it is passed over.
            drawn = self._kept.with_suffix(".new")
            drawn.write_text(json.dumps(tables))
            drawn.replace(self._kept)

    def _check_current(self) -> None:
        """Check that the file of names is the one that is named."""
        current = self.directory / _CURRENT
        content = current.read_bytes()
        try:
            there = content.endswith(b"\n") and (self.directory / content.decode()[:-1]).is_file()
        except ValueError:
            there = False
        if not there and current.read_bytes() == content:
            raise _changed(current, "names no file that is there")

    def _read(self, path: Path) -> Generator[int, None, _Sum]:
        before = self._known.get(path.name, _Sum(0, 0))
        with path.open("rb") as file:
            size, at, checksum = os.fstat(file.fileno()).st_size, 0, 0
            if size < before.size:
                raise _changed(path, f"had {before.size} bytes and has {size}")
            while at < size:
                until = before.size if at < before.size else size
                part = file.read(min(_SLICE, until - at))
                if not part:
                    break
                at += len(part)
                checksum = crc32(part, checksum)
                if at == before.size and checksum != before.checksum:
                    raise _changed(path, "has other bytes than before")
                yield len(part)
        return _Sum(at, checksum)


def _changed(path: Path, how: str) -> DamagedError:
    return DamagedError(f"The file {path} {how}: its disk does not keep what was written.")
