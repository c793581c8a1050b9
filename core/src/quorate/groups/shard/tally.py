"""What a shard's replica on this node has done with writes since it was opened."""

from typing import Final

from quorate.observe.histogram import BYTES, COUNTS, SECONDS, Histogram


class WriteTally:
    """Counts the writes that were proposed here, and the entries that were made of them."""

    __slots__ = ("durations", "entry_bytes", "entry_commands", "refused")

    def __init__(self) -> None:
        self.entry_commands: Final = Histogram(COUNTS)
        self.entry_bytes: Final = Histogram(BYTES)
        #: From the queue to the answer, whatever it is.
        self.durations: Final = Histogram(SECONDS)
        #: Commands that were refused for lack of room.
        self.refused = 0
