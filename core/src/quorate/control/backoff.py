"""Delays after failures."""

from typing import Final


class Backoff:
    """A delay that doubles with each failure in a row, up to a limit."""

    def __init__(self, first_s: float, longest_s: float) -> None:
        #: Failures since the last success.
        self.failures = 0
        self._first_s: Final = first_s
        self._longest_s: Final = longest_s

    def failed(self) -> float:
        """Record a failure, and return the delay."""
        self.failures += 1
        return min(self._first_s * 2.0 ** min(self.failures - 1, 30), self._longest_s)

    def succeeded(self) -> None:
        """Reset the failures after a success."""
        self.failures = 0
