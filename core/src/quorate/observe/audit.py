"""The audit log of a node: a JSON object per line, in a rotated file and for followers."""

import asyncio
import json
import logging
import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Final

_log = logging.getLogger(__name__)

#: Maximum number of records that wait for the disk; more are lost, and counted.
_MOST_WAITING: Final = 100_000
#: Maximum number of records that wait for a follower; a slower one is ended.
_MOST_FOLLOWED: Final = 10_000
#: Maximum number of lines to write at once.
_RUN: Final = 1_000


class AuditError(Exception):
    """The audit log cannot be written; the text says what to do."""


class LaggingError(Exception):
    """A follower did not keep up with the records."""


class AuditLog:
    """Writes records in their order, in a thread: a slow disk delays no call.

    Each record gets the time, the node and a number, which counts from 1 at each start; a gap shows
    that records were lost. The constructor raises `AuditError`.
    """

    def __init__(self, path: Path, *, largest: int, kept: int, node: str) -> None:
        self._path: Final = path
        self._largest: Final = largest
        self._kept: Final = kept
        self._node: Final = node
        try:
            self._file = _opened(path)
        except OSError as error:
            raise AuditError(
                f"{path} cannot be written: {error.strerror}; correct audit.file, or let this user"
                " write there"
            ) from error
        self._waiting: Final[queue.Queue[Mapping[str, object] | None]] = queue.Queue(_MOST_WAITING)
        self._followers: Final[set[Follower]] = set()
        #: Number of records made, and of those lost to the file.
        self.made = 0
        self.lost = 0
        self._failing = False
        self._torn = False
        self._thread: Final = threading.Thread(target=self._write_all, name="audit", daemon=True)
        self._thread.start()

    def write(self, record: Mapping[str, object]) -> None:
        """Add a record without waiting for the disk."""
        self.made += 1
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        full = {"time": time, "node": self._node, "sequence": self.made, **record}
        for follower in self._followers:
            follower.take(full)
        try:
            self._waiting.put_nowait(full)
        except queue.Full:
            self._lose(1, "the disk is too slow")

    def follow(self) -> "Follower":
        """Return a follower of the records from now on; the caller closes it."""
        follower = Follower(self._followers.discard)
        self._followers.add(follower)
        return follower

    def end_following(self) -> None:
        """End all followers; records are still written."""
        for follower in list(self._followers):
            follower.close()

    def close(self) -> None:
        """Write the waiting records, make them durable and close the file; blocks."""
        self._waiting.put(None)
        self._thread.join()
        self._file.close()

    # In the thread.

    def _write_all(self) -> None:
        over = False
        while not over:
            run = [self._waiting.get()]
            while len(run) < _RUN and run[-1] is not None:
                try:
                    run.append(self._waiting.get_nowait())
                except queue.Empty:
                    break
            over = run[-1] is None
            records = [each for each in run if each is not None]
            try:
                self._write_run(records)
                if over:
                    os.fsync(self._file.fileno())
                self._failing = False
            except OSError as error:
                self._lose(len(records), error.strerror or "the disk fails")

    def _write_run(self, records: Sequence[Mapping[str, object]]) -> None:
        if self._file.closed:
            self._file = _opened(self._path)
        content = "".join(f"{line(each)}\n" for each in records).encode()
        # After a write that failed half way the next record begins on a line of its own.
        left = memoryview(b"\n" + content if self._torn else content)
        while left:
            self._torn = True
            left = left[self._file.write(left) :]
        self._torn = False
        if self._file.tell() >= self._largest:
            self._file.close()
            self._rotate()
            self._file = _opened(self._path)

    def _rotate(self) -> None:
        """Rename the file to `.1`, that to `.2`, and so on; the oldest is overwritten."""
        for number in range(self._kept, 0, -1):
            newer = f".{number - 1}" if number > 1 else ""
            source = self._path.with_name(f"{self._path.name}{newer}")
            if source.exists():
                source.replace(self._path.with_name(f"{self._path.name}.{number}"))

    def _lose(self, count: int, why: str) -> None:
        self.lost += count
        if not self._failing:
            self._failing = True
            _log.error(
                "audit records are being lost: %s; make room for %s, or name another audit.file",
                why,
                self._path,
            )


class Follower:
    """The records since its creation."""

    def __init__(self, closed: Callable[["Follower"], None]) -> None:
        self._closed: Final = closed
        self._records: Final[deque[Mapping[str, object]]] = deque()
        self._news: Final = asyncio.Event()
        self._over = False
        self._lags = False

    def take(self, record: Mapping[str, object]) -> None:
        """Queue a record for `next`."""
        if len(self._records) >= _MOST_FOLLOWED:
            self._lags = True
            self._records.clear()
        elif not self._lags:
            self._records.append(record)
        self._news.set()

    async def next(self) -> list[Mapping[str, object]]:
        """Return the queued records, at least one; an empty list after the end.

        Raises `LaggingError` once records were dropped.
        """
        while not (self._records or self._over or self._lags):
            self._news.clear()
            await self._news.wait()
        if self._lags:
            raise LaggingError
        found = list(self._records)
        self._records.clear()
        return found

    def close(self) -> None:
        """Take no more records."""
        self._over = True
        self._closed(self)
        self._news.set()


def line(record: Mapping[str, object]) -> str:
    """Return a record as a line of the file."""
    return json.dumps(record, separators=(",", ":"))


def _opened(path: Path) -> FileIO:
    """Open a file to append to, which only this user may read."""
    return FileIO(path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600))
