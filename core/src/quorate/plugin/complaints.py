"""What a task says that fails again and again."""

from __future__ import annotations

import logging
from typing import Final


class Complaints:
    """Logs why attempts fail: a reason that stays the same is logged once."""

    def __init__(self, log: logging.Logger, what: str) -> None:
        self._log: Final = log
        self._what: Final = what
        #: The reason of the last failed attempt.
        self._last = ""

    def complain(self, error: BaseException, *, worked: bool) -> None:
        """Log the failure of an attempt; `worked` says that the one before did not fail.

        A refusal of the node, as while a cluster is founded or has no leader, is not a fault: it is
        logged at INFO, without a traceback.
        """
        reason = f"{type(error).__name__}: {error}"
        if worked or reason != self._last:
            expected = hasattr(error, "code")
            level = logging.INFO if expected else logging.WARNING
            exc_info = None if expected else error
            self._log.log(level, "%s: %s", self._what, reason, exc_info=exc_info)
        self._last = reason
