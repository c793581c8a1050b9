"""How long to wait after something has failed."""

from typing import Final


class Backoff:
    """Twice as long after each failure in a row, up to a bound."""

    def __init__(self, first_s: float, longest_s: float) -> None:
        #: How often it has failed since it last succeeded.
        self.failures = 0
        self._first_s: Final = first_s
        self._longest_s: Final = longest_s

    def failed(self) -> float:
        """Record a failure, and return how long to wait."""
        self.failures += 1
        return min(self._first_s * 2.0 ** min(self.failures - 1, 30), self._longest_s)

    def succeeded(self) -> None:
        """Forget the failures."""
        self.failures = 0
