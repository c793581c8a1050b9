"""Counts refused messages, and logs the first of each kind."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

_logger = logging.getLogger(__name__)

#: The name of all unknown nodes: names that strangers claim are not stored.
STRANGER: Final = "a stranger"


class Refused:
    """Counts by (node, reason); the reasons are a fixed set of sentences, so this stays small."""

    def __init__(self, is_known: Callable[[str], bool]) -> None:
        self._is_known: Final = is_known
        self.counts: Final[Counter[tuple[str, str]]] = Counter()

    def record(self, node: str, reason: str, detail: str, level: int = logging.WARNING) -> None:
        """Count a refusal; log the first one of its kind with its detail."""
        who = node if self._is_known(node) else STRANGER
        self.counts[who, reason] += 1
        if self.counts[who, reason] == 1:
            _logger.log(level, "refused from %s: %s (%s)", who, reason, detail)
