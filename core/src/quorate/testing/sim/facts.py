"""What a simulated cluster is seen to do: invariants judge these facts and nothing else."""

from collections.abc import Callable
from dataclasses import dataclass

from quorate.consensus.journal import HardState, Position
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Entry, Message, Peer


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that one replica did."""

    shard: str
    peer: Peer


@dataclass(frozen=True, slots=True)
class Opened(Fact):
    """A process opened a replica: this is what its disk held."""

    position: Position
    terms: tuple[int, ...]
    configurations: tuple[tuple[int, Configuration], ...]
    hard_state: HardState
    applied: int
    #: The configuration beside the applied index.
    stored: Configuration | None


@dataclass(frozen=True, slots=True)
class Appended(Fact):
    """Entries were written behind `previous`."""

    previous: Position
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Truncated(Fact):
    """The entries from `index` on were dropped."""

    index: int


@dataclass(frozen=True, slots=True)
class Compacted(Fact):
    """The entries up to `index` were dropped."""

    index: int


@dataclass(frozen=True, slots=True)
class Reset(Fact):
    """Every entry was dropped: a snapshot stands for them."""

    position: Position
    configuration: Configuration | None


@dataclass(frozen=True, slots=True)
class StateSaved(Fact):
    """The hard state was written."""

    state: HardState


@dataclass(frozen=True, slots=True)
class Synced(Fact):
    """The first `writes` writes since the log was opened, or since the last sync, are durable."""

    writes: int


@dataclass(frozen=True, slots=True)
class Sent(Fact):
    """A message left the replica."""

    message: Message


@dataclass(frozen=True, slots=True)
class Answered(Fact):
    """An answer to an append came to the replica."""

    message: Message


@dataclass(frozen=True, slots=True)
class Fenced(Fact):
    """The replica took a proposal that was to be taken in one term alone."""

    asked_term: int
    term: int


@dataclass(frozen=True, slots=True)
class Elected(Fact):
    """The replica became leader; `term_of` reads its log."""

    term: int
    term_of: Callable[[int], int | None]


@dataclass(frozen=True, slots=True)
class Seen(Fact):
    """What the replica's state was after it was given something."""

    leads: bool
    term: int
    commit: int
    applied: int
    configuration: Configuration | None


@dataclass(frozen=True, slots=True)
class Committed(Fact):
    """The replica learnt that these entries, of its log, are committed."""

    leads: bool
    term: int
    configuration: Configuration
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Applied(Fact):
    """The replica's state machine took an entry, the `count`th, and has this digest after it."""

    entry: Entry
    count: int
    digest: int


@dataclass(frozen=True, slots=True)
class Installed(Fact):
    """The replica's state machine was replaced by a snapshot."""

    position: Position
    digest: int
    count: int


@dataclass(frozen=True, slots=True)
class Acknowledged(Fact):
    """A client was told that its proposal was applied."""

    index: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Refused(Fact):
    """A client was told that its proposal will never be applied."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class ReadBegan(Fact):
    """A client asked for a linearizable read."""

    read: int


@dataclass(frozen=True, slots=True)
class ReadEnded(Fact):
    """The read was served from a state machine that had applied up to `index`."""

    read: int
    index: int


@dataclass(frozen=True, slots=True)
class Stopped(Fact):
    """The replica stopped for good."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Healed(Fact):
    """Nothing has been wrong for the stated time; `served`: a proposal was acknowledged since."""

    after_s: float
    served: bool


@dataclass(frozen=True, slots=True)
class Ended(Fact):
    """The run is over, the replica has caught up: its state machine stands here."""

    applied: int
    digest: int
