"""How fast batches follow each other, so that a load leaves a cluster time for its other work."""

from __future__ import annotations

from typing import Final

#: A node that answers a batch within this time has little that waits.
PROMPT_S: Final = 0.12
#: On slower clusters: this multiple of the time that the quickest batch took.
_PROMPT_TIMES: Final = 2.0
_MORE: Final = 0.25
_LESS: Final = 0.7
_LEAST: Final = 0.25
LONGEST_REST_S: Final = 2.0


class AdaptiveRate:
    """Batches of one queue: how many at once, or how much rest between one and the next.

    A number of batches under way grows while answers come promptly, and shrinks with each round in
    which one does not. Below one, a batch goes alone, and a rest follows in proportion to its time.
    """

    __slots__ = ("_most", "_quickest_s", "_shrunk_at_s", "_under_way", "rests_until_s")

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._under_way = 1.0
        self._quickest_s = float("inf")
        self._shrunk_at_s = float("-inf")
        #: No batch is to begin before this time.
        self.rests_until_s = float("-inf")

    @property
    def at_once(self) -> int:
        """How many batches may be under way."""
        return max(1, int(self._under_way))

    def answered(self, began_s: float, ended_s: float) -> None:
        """Learn how long a batch took; times are of one clock."""
        took_s = ended_s - began_s
        self._quickest_s = min(self._quickest_s, took_s)
        if took_s <= max(PROMPT_S, _PROMPT_TIMES * self._quickest_s):
            grown = self._under_way + _MORE / max(1.0, self._under_way)
            self._under_way = min(float(self._most), grown)
        elif began_s >= self._shrunk_at_s:
            self._under_way = max(_LEAST, self._under_way * _LESS)
            self._shrunk_at_s = ended_s
        if self._under_way < 1:
            rest_s = took_s * (1 / self._under_way - 1)
            self.rests_until_s = ended_s + min(rest_s, LONGEST_REST_S)
