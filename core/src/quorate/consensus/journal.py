"""The port to a shard's log on disk."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from quorate.consensus.messages import Entry, Peer


class HardState(NamedTuple):
    """The durable promises of a replica: its term, and its vote in it."""

    term: int
    voted_for: Peer | None


@dataclass(slots=True, unsafe_hash=True)
class Position:
    """A place in the log. It never changes; a frozen class takes three times as long to make."""

    index: Final[int]
    term: Final[int]


class Journal(Protocol):
    """One shard's log. Writes are ordered and unsynced: a crash keeps some beginning of them.

    `written` numbers the writes of all shards that share the node's log; what was written up to a
    number is durable once the log was synced with that number read before the sync began.
    """

    @property
    def sentinel(self) -> Position:
        """The position right before the first entry: (0, 0), or where the log was cut."""

    @property
    def last(self) -> Position:
        """The last position; the sentinel when there are no entries."""

    @property
    def hard_state(self) -> HardState:
        """The newest hard state that was saved."""

    @property
    def written(self) -> int:
        """The number of this shard's newest write; 0 before the first one."""

    @property
    def applied(self) -> int:
        """An index up to which entries were committed and applied before it was opened.

        It may be behind the last one that `note_applied` was given, and beyond `last`.
        """

    def term_of(self, index: int) -> int | None:
        """Return the term at an index, the sentinel's too; None where the log holds nothing."""

    def read(self, first: int, last: int, max_bytes: int) -> list[Entry]:
        """Return entries from `first` to `last`: at least one, at most `max_bytes` of them.

        Raises `JournalDamagedError` when an entry does not read back as it was written.
        """

    def append(self, entries: Sequence[Entry]) -> None:
        """Write entries that follow the last one."""

    def truncate_from(self, index: int) -> None:
        """Drop the entries at and above an index."""

    def compact_to(self, index: int) -> None:
        """Drop the entries at and below an index, which becomes the sentinel."""

    def reset(self, position: Position) -> None:
        """Drop every entry; the position becomes the sentinel."""

    def save_hard_state(self, state: HardState) -> None:
        """Write the hard state."""

    def note_applied(self, index: int) -> None:
        """Note that the durable entries up to an index were committed and applied."""


class JournalDamagedError(Exception):
    """The log on disk is damaged; the replica must not continue with it."""
