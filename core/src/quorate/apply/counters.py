"""Counters of a shard's state machine on this node since it was opened."""

from typing import Final

from quorate.observe.histogram import SECONDS, Histogram


class ApplyCounters:
    """Counts what was applied, and how long that blocked the loop."""

    __slots__ = ("commands", "entries", "turns")

    def __init__(self) -> None:
        self.entries = 0
        self.commands = 0
        #: The duration of each turn, including the write at its end.
        self.turns: Final = Histogram(SECONDS)

    def turn(self, entries: int, commands: int, took_s: float) -> None:
        """Count the entries and commands of a turn."""
        self.entries += entries
        self.commands += commands
        self.turns.observe(took_s)
