"""How loudly a failure is told."""

import logging
from typing import Final

from quorate.groups.refusals import (
    FencedError,
    NotProposedError,
    OutcomeUnknownError,
    UnreadableError,
)

#: What each cluster goes through while nodes start, stop and change leaders.
_PASSING: Final = (NotProposedError, OutcomeUnknownError, UnreadableError, FencedError)
#: What is met so often in a row does not pass by itself.
_LASTS: Final = 4


def level_of(error: BaseException, failures: int) -> int:
    """Return at which level the log is told of an error, which ended that many runs in a row.

    What passes by itself is no warning before it lasts: a log that warns of each start and of each
    change of leaders is not read.
    """
    passes = isinstance(error, _PASSING) and failures < _LASTS
    return logging.INFO if passes else logging.WARNING
