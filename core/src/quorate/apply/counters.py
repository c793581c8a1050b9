"""What the state machine of a shard has done on this node since it was opened."""

from typing import Final

from quorate.observe.histogram import SECONDS, Histogram


class ApplyCounters:
    """Counts what was applied, and how long the loop stood still for it."""

    __slots__ = ("commands", "entries", "turns")

    def __init__(self) -> None:
        self.entries = 0
        self.commands = 0
        #: How long each turn took, with the write at its end.
        self.turns: Final = Histogram(SECONDS)

    def turn(self, entries: int, commands: int, took_s: float) -> None:
        """Count the entries of a turn, and the commands that they came from."""
        self.entries += entries
        self.commands += commands
        self.turns.observe(took_s)
