"""What was refused of what others sent: each is counted, the first of each kind is logged."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

_logger = logging.getLogger(__name__)

#: Who is named that is not a known node: what strangers say of themselves is not remembered.
STRANGER: Final = "a stranger"


class Refused:
    """Counts by (node, reason). Reasons are a fixed set of sentences, so this stays small."""

    def __init__(self, is_known: Callable[[str], bool]) -> None:
        self._is_known: Final = is_known
        self.counts: Final[Counter[tuple[str, str]]] = Counter()

    def note(self, node: str, reason: str, detail: str, level: int = logging.WARNING) -> None:
        """Count a refusal; log it with its detail when it is the first one of its kind."""
        who = node if self._is_known(node) else STRANGER
        self.counts[who, reason] += 1
        if self.counts[who, reason] == 1:
            _logger.log(level, "refused from %s: %s (%s)", who, reason, detail)
