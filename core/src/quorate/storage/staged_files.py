"""The files of file sets on a node, beside its databases: whole ones are durable.

A file is named by its family and the digest of its content, so that a repeated part changes nothing
and a file that was sent twice is there once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, Final
from urllib.parse import quote, unquote

from quorate.observe.failpoints import failpoint
from quorate.storage import durably
from quorate.storage.engine.port import DamagedError, Engine, FullError
from quorate.v1.files_pb2 import SortedFile

DIGEST_BYTES: Final = 32
_PART: Final = ".part"
_FILE: Final = ".sst"
_INDEX: Final = "index"
#: The name of a set, in its folder.
_NAME: Final = "name"
_SLICE: Final = 1 << 20

#: Opens an engine at a path, to look into sorted files.
OpenIndex = Callable[[Path, Iterable[str]], Engine]


def digest_of(content: bytes = b"") -> blake2b:
    """Return the running digest of a file's content."""
    return blake2b(content, digest_size=DIGEST_BYTES)


class StagedFiles:
    """Methods block, but for `paths` and `find`; they may run in any thread, one at a time a set.

    `index` opens an engine in which the files of a set can be looked into.
    """

    def __init__(self, directory: Path, index: OpenIndex) -> None:
        self._directory: Final = directory
        self._open_index: Final = index
        self._lock: Final = Lock()
        #: The digest of what has come of a file, and how much that is.
        self._coming: Final[dict[Path, tuple[Any, int]]] = {}
        #: By the folder of a set: the engine to look into its files, and those that it has.
        self._indexes: Final[dict[Path, tuple[Engine, set[Path]]]] = {}

    def received(self, shard: str, name: str, file: SortedFile) -> int:
        """Return how much of a file is here: all that counts is its beginning."""
        path = self._path(shard, name, file)
        with self._lock:
            return int(file.size) if path.exists() else self._coming_of(path, file)[1]

    def write(self, shard: str, name: str, file: SortedFile, offset: int, content: bytes) -> int:
        """Write the next part of a file; return how much of it is here, durably once it is whole.

        A part that does not continue the file is passed over. Raises `FullError`, and
        `DamagedError` for a file that differs from what was announced.
        """
        path = self._path(shard, name, file)
        with self._lock:
            if path.exists():
                return int(file.size)
            digest, received = self._coming_of(path, file)
            if offset != received or offset + len(content) > file.size:
                return received
            try:
                failpoint("staging.writes")
                self._folder(shard, name)
                with path.with_suffix(_PART).open("r+b" if received else "wb") as part:
                    part.seek(received)
                    part.truncate()
                    part.write(content)
            except OSError as error:
                raise FullError(f"{path.parent} cannot be written to: {error}.") from None
            digest.update(content)
            received += len(content)
            self._coming[path] = digest, received
            if received == file.size:
                self._finish(path, file)
            return received

    def paths(
        self, shard: str, name: str, files: Iterable[SortedFile]
    ) -> Mapping[str, Sequence[Path]] | None:
        """Return where files are, by family; None if one is not here."""
        found: dict[str, list[Path]] = {}
        for file in files:
            path = self._path(shard, name, file)
            if not path.exists():
                return None
            found.setdefault(file.family, []).append(path)
        return found

    def read(self, shard: str, name: str, file: SortedFile, offset: int) -> bytes | None:
        """Return a part of a file, b"" at its end; None if it is not here."""
        try:
            with self._path(shard, name, file).open("rb") as opened:
                opened.seek(offset)
                return opened.read(_SLICE)
        except FileNotFoundError:
            return None

    def look_into(self, shard: str, name: str, files: Iterable[SortedFile]) -> None:
        """Prepare `find`; raises `DamagedError` when files are not what they were said to be."""
        with self._lock:
            for file in files:
                self._add_to_index(self._path(shard, name, file), file.family)

    def find(self, shard: str, name: str, family: str, keys: list[bytes]) -> bytes | None:
        """Return the first of these keys that is in the files of a set which were looked into.

        Raises `LookupError` if none were.
        """
        engine, _ = self._indexes[self._set_path(shard, name)]
        if family not in engine.families:
            return None
        values = engine.get_many(family, keys)
        return next(
            (key for key, value in zip(keys, values, strict=True) if value is not None), None
        )

    def sets(self) -> Iterator[tuple[str, str]]:
        """Yield the shard and the name of every set of which something is here."""
        if not self._directory.exists():
            return
        for shard in sorted(self._directory.iterdir()):
            for folder in sorted(shard.iterdir()):
                path = folder / _NAME
                if path.exists():
                    yield unquote(shard.name), path.read_text()

    def idle_s(self, shard: str, name: str, now_s: float) -> float:
        """Return for how long nothing has come of a set."""
        try:
            return max(0.0, now_s - self._set_path(shard, name).stat().st_mtime)
        except FileNotFoundError:
            return 0.0

    def remove(self, shard: str, name: str) -> None:
        """Remove all of a set, if anything is here."""
        folder = self._set_path(shard, name)
        with self._lock:
            self._close_index(folder)
            for path in [path for path in self._coming if path.parent == folder]:
                del self._coming[path]
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """Close all files."""
        with self._lock:
            for folder in list(self._indexes):
                self._close_index(folder)

    # Inside.

    def _coming_of(self, path: Path, file: SortedFile) -> tuple[Any, int]:
        known = self._coming.get(path)
        if known is None:
            digest, received = digest_of(), 0
            part = path.with_suffix(_PART)
            if part.exists():
                with part.open("rb") as opened:
                    while content := opened.read(_SLICE):
                        digest.update(content)
                        received += len(content)
            if received >= file.size:
                # The process that received all of it died before it had named the file: whoever
                # were told that it is here would send nothing, and it would never be named.
                part.unlink(missing_ok=True)
                digest, received = digest_of(), 0
            known = self._coming[path] = digest, received
        return known

    def _finish(self, path: Path, file: SortedFile) -> None:
        part = path.with_suffix(_PART)
        digest, _ = self._coming.pop(path)
        if digest.digest() != file.digest:
            part.unlink()
            raise DamagedError(
                f"A file of {file.family} came with other bytes than announced: send it again."
            )
        with part.open("rb") as opened:
            os.fsync(opened.fileno())
        failpoint("staging.synced")
        part.rename(path)
        durably.sync_directory(path.parent)
        failpoint("staging.named")
        try:
            self._add_to_index(path, file.family, file.rows)
        except DamagedError:
            path.unlink()
            raise

    def _add_to_index(self, path: Path, family: str, rows: int | None = None) -> None:
        folder = path.parent
        if folder not in self._indexes:
            # What an earlier process left is not needed: the files themselves are.
            shutil.rmtree(folder / _INDEX, ignore_errors=True)
            self._indexes[folder] = self._open_index(folder / _INDEX, ()), set()
        engine, known = self._indexes[folder]
        if path in known:
            return
        if family not in engine.families:
            engine.add_family(family)
        before = engine.file_rows()
        engine.ingest({family: [path]})
        if rows is not None and engine.file_rows() - before != rows:
            raise DamagedError(f"A file of {family} has another number of rows than announced.")
        known.add(path)

    def _close_index(self, folder: Path) -> None:
        engine, _ = self._indexes.pop(folder, (None, None))
        if engine is not None:
            engine.close()

    def _set_path(self, shard: str, name: str) -> Path:
        folder = blake2b(name.encode(), digest_size=16).hexdigest()
        return self._directory / quote(shard, safe="") / folder

    def _folder(self, shard: str, name: str) -> Path:
        folder = self._set_path(shard, name)
        if not (folder / _NAME).exists():
            folder.mkdir(parents=True, exist_ok=True)
            durably.write(folder / _NAME, name.encode())
            durably.sync_directory(folder.parent)
        return folder

    def _path(self, shard: str, name: str, file: SortedFile) -> Path:
        return (
            self._set_path(shard, name)
            / f"{quote(file.family, safe='')}-{file.digest.hex()}{_FILE}"
        )
