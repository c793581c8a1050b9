"""Limits of a shard's queue."""

from typing import Final

from quorate.groups.refusals import ExhaustedError


class Admission:
    """Limits a queue by bytes and by count.

    Each `admit` needs a `release` with the same arguments.
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
        """Reserve capacity for `count` commands of `size` bytes in all.

        Raises `ExhaustedError` if there is none; an empty queue accepts more than its limit.
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
        """Release capacity."""
        if size > self.bytes or count > self.count:
            raise ValueError(f"{self._name} released more than was reserved")
        self.bytes -= size
        self.count -= count
