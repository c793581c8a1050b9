"""How loudly a failure is reported, and in which words."""

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


#: How many causes of a group of errors are named.
_CAUSES: Final = 3


def sentence_of(error: BaseException) -> str:
    """Return what an error says, and of a group of errors what the first of them say."""
    if not isinstance(error, BaseExceptionGroup):
        return f"{type(error).__name__}: {error}"
    causes = list(dict.fromkeys(map(sentence_of, error.exceptions)))
    more = f"; and {len(causes) - _CAUSES} more" if len(causes) > _CAUSES else ""
    return f"{error.message}: {'; '.join(causes[:_CAUSES])}{more}"


def level_of(error: BaseException, failures: int) -> int:
    """Return at which level the log is told of an error, which ended that many runs in a row.

    What passes by itself is no warning before it lasts: a log that warns of each start and of each
    change of leaders is not read.
    """
    passes = isinstance(error, _PASSING) and failures < _LASTS
    return logging.INFO if passes else logging.WARNING
