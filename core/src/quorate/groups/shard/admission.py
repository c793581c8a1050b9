"""How much a shard's queue takes before it says no."""

from typing import Final

from quorate.groups.refusals import ExhaustedError


class Admission:
    """Bounds what waits in one queue, by bytes and by count, so that each shard has its own room.

    Whoever is admitted gives the same figure back by `release`, however it ends.
    """

    def __init__(
        self, name: str, *, max_bytes: int, max_count: int, retry_after_ms: int = 50
    ) -> None:
        self.bytes = 0
        self.count = 0
        self._name: Final = name
        self._max_bytes: Final = max_bytes
        self._max_count: Final = max_count
        self._retry_after_ms: Final = retry_after_ms

    def admit(self, size: int, count: int = 1) -> None:
        """Take room for `count` commands of `size` bytes in all.

        Raises `ExhaustedError` when there is none; an empty queue takes what is larger than it.
        """
        full = self.count + count > self._max_count or self.bytes + size > self._max_bytes
        if full and self.count:
            raise ExhaustedError(
                f"{self._name} is full: {self.count} commands of {self.bytes} bytes wait, "
                f"{self._max_count} or {self._max_bytes} bytes are the most",
                self._retry_after_ms,
            )
        self.bytes += size
        self.count += count

    def release(self, size: int, count: int = 1) -> None:
        """Give room back."""
        if size > self.bytes or count > self.count:
            raise ValueError(f"{self._name} gives back more than it took")
        self.bytes -= size
        self.count -= count
