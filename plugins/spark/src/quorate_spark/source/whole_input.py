"""Tells the end of the rows from the death of the Spark process that sends them.

Arrow takes the end of a connection for the end of the rows. A task that believed it would send a
last batch that is cut short, and no later attempt could send the whole one under its number.
"""

from __future__ import annotations

import os
import select
import socket
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from quorate_spark.source.errors import SourceError

T = TypeVar("T")

#: The other side has closed, or is gone; only Linux tells the former while something is unread.
_ENDED: Final = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR
_FDS: Final = Path("/dev/fd")


def connections() -> list[int]:
    """Return the connections that this process has; in a task, before it opens any: to its Java."""
    return [fd for fd in map(int, os.listdir(_FDS)) if _connected(fd) and not _ended([fd])]


def whole(rows: Iterator[T], inputs: Sequence[int]) -> Iterator[T]:
    """Yield rows; raises `SourceError` at their end when the connections have ended as well."""
    yield from rows
    if _ended(inputs):
        raise SourceError("Spark has ended before it had given all rows of the partition")


def _connected(fd: int) -> bool:
    with suppress(OSError):
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            with socket.socket(fileno=os.dup(fd)) as connection:
                connection.getpeername()
                return True
    return False


def _ended(fds: Sequence[int]) -> bool:
    polled = select.poll()
    for fd in fds:
        polled.register(fd, _ENDED)
    return any(events & _ENDED for _, events in polled.poll(0))
