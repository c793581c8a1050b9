"""A state machine that remembers what it was given: enough to see whether anything was lost."""

from collections.abc import Iterable
from typing import Final
from zlib import crc32

from quorate.consensus.messages import Entry, EntryKind

#: What is kept of a payload.
HEAD_BYTES: Final = 32


class Register:
    """Keeps the beginning of every command in order, and one checksum over all of them."""

    def __init__(self) -> None:
        self.index = 0
        self.checksum = 0
        self.heads: Final[list[bytes]] = []

    def apply(self, entries: Iterable[Entry]) -> None:
        """Apply entries; raises `ValueError` when one is missing."""
        for entry in entries:
            if entry.index != self.index + 1:
                raise ValueError(f"entry {entry.index} follows {self.index}")
            self.index = entry.index
            if entry.kind is EntryKind.COMMAND:
                self.heads.append(entry.payload[:HEAD_BYTES])
                self.checksum = crc32(entry.payload, self.checksum)
