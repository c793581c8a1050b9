"""Log levels and texts of failures."""

import logging
from typing import Final

from quorate.groups.refusals import (
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
