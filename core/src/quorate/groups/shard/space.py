"""Free space on the disk: writes stop before it runs out, because a log must never fail."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

#: What stays free for what cannot be refused: terms, votes, the files of a flush.
MARGIN_BYTES: Final = 64 << 20
#: A shard at its fastest writes several megabytes in this time, with all that follows from it.
_LOOK_S: Final = 0.05
_RETRY_MS: Final = 1_000


class FreeSpace:
    """Checks whether there is space for writes, at most twenty times a second."""

    def __init__(
        self,
        measure: Callable[[], int],
        clock: Callable[[], float],
        *,
        margin_bytes: int = MARGIN_BYTES,
    ) -> None:
        #: When a refused caller may retry.
        self.retry_after_ms: Final = _RETRY_MS
        self._measure: Final = measure
        self._clock: Final = clock
        self._margin_bytes: Final = margin_bytes
        self._free_bytes = margin_bytes
        self._looked = float("-inf")

    @property
    def short(self) -> bool:
        """Whether less is free than must stay so."""
        now = self._clock()
        if now - self._looked >= _LOOK_S:
            self._looked = now
            self._free_bytes = self._measure()
        return self._free_bytes < self._margin_bytes

    @property
    def shortage(self) -> str:
        """The reason for refused callers."""
        return (
            f"{self._free_bytes} bytes are free on this node's disk and {self._margin_bytes} must"
            " stay free; free space, and writes go on by themselves"
        )


def free_bytes_of(path: Path) -> int:
    """Return what is free on a path's file system for this process."""
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize
