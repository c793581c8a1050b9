"""Logical time, which a leader writes into the entries of its shard."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

#: Maximum difference of two clocks that agree.
TOLERANCE_MS: Final = 5_000
#: How long clocks that were all right are taken for right: nodes tell theirs every few seconds.
_RIGHT_S: Final = 0.1
#: Maximum step of the wall clock meanwhile: the clock of a loop stands still during a turn.
_STEP_MS: Final = 20

_NONE: Final[Mapping[str, int]] = MappingProxyType({})

#: The current clocks of the other voters by node; None if unknown. A value grows with monotonic
#: time since its report, so that a jump of this node's own clock is detected at once.
VoterClocks = Callable[[], Mapping[str, int | None]]


class LogicalClock:
    """The logical time of a shard on its leader; it never runs backwards.

    It advances with the monotonic clock from the shard's time at the election. The wall clock may
    move it forward while a majority of the voters agrees with it.
    """

    def __init__(
        self,
        node: str,
        *,
        clock: Callable[[], float],
        wall_ms: Callable[[], int],
        voters: VoterClocks,
    ) -> None:
        #: The voters whose clocks are wrong, by their distance in ms from those that are right.
        self.strays: Mapping[str, int] = _NONE
        #: Whether a majority agrees with the leader's wall clock, which is used then.
        self._agreed = True
        self._node: Final = node
        self._clock: Final = clock
        self._wall_ms: Final = wall_ms
        self._voters: Final = voters
        self._base_ms = 0
        self._since = clock()
        #: Until when clocks that were all right are not compared again, and how far the wall clock
        #: was ahead of the monotonic one then.
        self._right_until = float("-inf")
        self._ahead_ms = 0

    @property
    def alarm(self) -> str | None:
        """Which clocks to correct, as of the last use of the time; None: there is nothing wrong."""
        if not self.strays:
            return None
        named = ", ".join(f"{node} is {away:+} ms away" for node, away in self.strays.items())
        then = (
            "with one of them as its leader, the logical time of the shard would go on without the"
            " wall clock"
            if self._agreed
            else "logical time goes on without the leader's wall clock"
        )
        return (
            f"the clocks of the voters differ by more than {TOLERANCE_MS} ms: {named}; {then}; set"
            " the clock of each of them"
        )

    def elected(self, shard_now_ms: int) -> None:
        """Continue from the shard's last logical time, as its new leader."""
        self._base_ms = shard_now_ms
        self._since = self._clock()

    def now_ms(self, shard_now_ms: int = 0) -> int:
        """Return the time for the next entry, never before that of an earlier one.

        `shard_now_ms` is the newest time that was applied: entries of an earlier leader may be
        applied only after the election.
        """
        now_s, wall_ms = self._clock(), self._wall_ms()
        elapsed_ms = round((now_s - self._since) * 1_000)
        now_ms = max(self._base_ms + elapsed_ms, shard_now_ms)
        ahead_ms = wall_ms - round(now_s * 1_000)
        if now_s < self._right_until and -_STEP_MS <= ahead_ms - self._ahead_ms <= _STEP_MS:
            now_ms = max(now_ms, wall_ms)
        else:
            now_ms = self._compared(now_ms, wall_ms)
            right = self._agreed and not self.strays
            self._right_until = now_s + _RIGHT_S if right else float("-inf")
            self._ahead_ms = ahead_ms
        self._base_ms = max(self._base_ms, now_ms - elapsed_ms)
        return now_ms

    def _compared(self, now_ms: int, wall_ms: int) -> int:
        """Compare the clocks of the voters, and return the later time if that may be used."""
        clocks: dict[str, int | None] = {**self._voters(), self._node: wall_ms}
        known = {node: shown for node, shown in clocks.items() if shown is not None}
        agreeing = [node for node in known if _near(known[node], wall_ms)]
        if len(agreeing) > len(clocks) // 2:
            now_ms = max(now_ms, wall_ms)
            self._agreed = True
            self.strays = _NONE if len(agreeing) == len(known) else _strays(known, wall_ms)
        else:
            self._agreed = False
            self.strays = self._disagreement(known, len(clocks))
        return now_ms

    def _disagreement(self, known: Mapping[str, int], voters: int) -> Mapping[str, int]:
        """Return the nodes whose clocks differ from a majority's, or else from the leader's."""
        wall_ms = known[self._node]
        references = [
            shown
            for shown in known.values()
            if sum(_near(other, shown) for other in known.values()) > voters // 2
        ]
        return _strays(known, references[0] if references else wall_ms)


def _strays(known: Mapping[str, int], right_ms: int) -> Mapping[str, int]:
    """Return the nodes whose clocks are wrong, and how far they are away."""
    return {
        node: known[node] - right_ms for node in sorted(known) if not _near(known[node], right_ms)
    }


def _near(one_ms: int, other_ms: int) -> bool:
    return abs(one_ms - other_ms) <= TOLERANCE_MS
