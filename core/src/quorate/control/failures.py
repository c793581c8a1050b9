"""Log levels and texts of failures, and delays after them."""

import logging
from typing import Final

from quorate.shards.refusals import (
    FencedError,
    NotProposedError,
    OutcomeUnknownError,
    UnreadableError,
)

#: Transient errors while nodes start, stop and change leaders.
_PASSING: Final = (NotProposedError, OutcomeUnknownError, UnreadableError, FencedError)
#: After this many failures in a row an error is not transient.
_LASTS: Final = 4


#: Maximum number of causes of a group of errors in a text.
_CAUSES: Final = 3


def sentence_of(error: BaseException) -> str:
    """Return the text of an error, for a group with its first causes."""
    if not isinstance(error, BaseExceptionGroup):
        return f"{type(error).__name__}: {error}"
    causes = list(dict.fromkeys(map(sentence_of, error.exceptions)))
    more = f"; and {len(causes) - _CAUSES} more" if len(causes) > _CAUSES else ""
    return f"{error.message}: {'; '.join(causes[:_CAUSES])}{more}"


def level_of(error: BaseException, failures: int) -> int:
    """Return the log level of an error after `failures` failed runs in a row.

    A transient error becomes a warning only if it lasts.
    """
    passes = isinstance(error, _PASSING) and failures < _LASTS
    return logging.INFO if passes else logging.WARNING


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
