"""Where backups and archives are kept: a directory, or a folder of an object store."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from quorate.storage import durably

T = TypeVar("T")

#: How much of a file is sent to an object store at a time.
_BLOCK: Final = 8 << 20


class PlaceError(Exception):
    """A URL cannot be used here; the message says why, and what to do."""


class ObjectFolder:
    """A folder or a file of an object store, as fsspec knows it by its URL.

    A file is there once all of it is written, and not before, hence nothing is renamed. What goes
    wrong is an `OSError`, whatever the store calls it.
    """

    def __init__(self, files: Any, path: str, url: str) -> None:
        self._files: Final = files
        self._path: Final = path.rstrip("/")
        self._url: Final = url.rstrip("/")

    def __truediv__(self, name: str) -> ObjectFolder:
        """Return what is below it."""
        return ObjectFolder(self._files, f"{self._path}/{name}", f"{self._url}/{name}")

    def __str__(self) -> str:
        """Return its URL."""
        return self._url

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self._path.rpartition("/")[2]

    def exists(self) -> bool:
        """Return whether there is such a file."""
        return self._asked(lambda: bool(self._files.isfile(self._path)))

    def read_bytes(self) -> bytes:
        """Return the content of the file."""
        return self._asked(lambda: bytes(self._files.cat_file(self._path)))

    def read_part(self, offset: int, length: int) -> bytes:
        """Return a part of the file."""
        if not length:
            return b""
        end = offset + length
        return self._asked(lambda: bytes(self._files.cat_file(self._path, start=offset, end=end)))

    def write_bytes(self, content: bytes) -> None:
        """Write the file."""
        self._asked(lambda: self._files.pipe_file(self._path, content))

    @contextmanager
    def writing(self) -> Iterator[Callable[[bytes], object]]:
        """Write the file part by part; it is not there unless this ends well."""
        file = self._asked(lambda: self._files.open(self._path, "wb", block_size=_BLOCK))
        try:
            yield lambda content: self._asked(lambda: file.write(content))
        except BaseException:
            # What was sent of it is given up; to close it would be to write it.
            if hasattr(file, "discard"):
                self._asked(file.discard)
                file.closed = True
            raise
        self._asked(file.close)

    def names(self) -> list[str]:
        """Return the names in the folder, in order."""
        try:
            found = self._asked(lambda: self._files.ls(self._path, detail=False))
        except FileNotFoundError:
            return []
        # A store may list the folder itself.
        paths = {str(each).rstrip("/") for each in found} - {self._path}
        return sorted(each.rpartition("/")[2] for each in paths)

    def unlink(self) -> None:
        """Remove the file."""
        self._asked(lambda: self._files.rm_file(self._path))

    def remove_all(self) -> None:
        """Remove the folder and all that is in it."""
        self._asked(lambda: self._files.rm(self._path, recursive=True))

    def _asked(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, str(error), self._url) from error
        except Exception as error:
            said = str(error) or type(error).__name__
            raise OSError(errno.EIO, said, self._url) from error


#: Of a `Path` and an `ObjectFolder` alike: `/`, `name`, `exists`, `read_bytes`, `unlink`, and what
#: the functions below do.
Place = Path | ObjectFolder


def place_of(text: str) -> Place:
    """Return a directory, or what a URL names; raises `PlaceError`."""
    scheme, separator, path = text.partition("://")
    if not separator:
        return Path(text)
    if scheme == "file":
        return Path(path)
    try:
        from fsspec.core import url_to_fs

        files, path = url_to_fs(text, use_listings_cache=False)
    except ModuleNotFoundError as error:
        raise PlaceError(f"{text} needs {error.name}: pip install 'quorate[s3]'") from error
    except (ImportError, ValueError) as error:
        raise PlaceError(f"{text} cannot be used: {error}") from error
    return ObjectFolder(files, path, text)


def names(place: Place) -> list[str]:
    """Return the names in a folder, in order; none when it is not there."""
    if isinstance(place, ObjectFolder):
        return place.names()
    return sorted(path.name for path in place.iterdir()) if place.is_dir() else []


def make(place: Place) -> None:
    """Make a folder, which is there durably; those of object stores need not be made."""
    if isinstance(place, Path) and not place.is_dir():
        make(place.parent)
        # Two shards of an archive may ask for the same folder at once.
        place.mkdir(exist_ok=True)
        durably.sync_directory(place.parent)


def write(place: Place, content: bytes) -> None:
    """Write a file, whole and durably, or replace it."""
    if isinstance(place, ObjectFolder):
        place.write_bytes(content)
    else:
        durably.replace(place, content)


@contextmanager
def writing(place: Place) -> Iterator[Callable[[bytes], object]]:
    """Write a new file part by part; at the end its content is durable."""
    if isinstance(place, ObjectFolder):
        with place.writing() as write_part:
            yield write_part
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("wb") as file:
        yield file.write
        file.flush()
        os.fsync(file.fileno())


def read_part(place: Place, offset: int, length: int) -> bytes:
    """Return a part of a file."""
    if isinstance(place, ObjectFolder):
        return place.read_part(offset, length)
    with place.open("rb") as file:
        file.seek(offset)
        return file.read(length)


def remove_all(place: Place) -> None:
    """Remove a folder and all that is in it."""
    if isinstance(place, ObjectFolder):
        place.remove_all()
    else:
        shutil.rmtree(place)
