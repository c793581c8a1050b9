"""What a simulated cluster is seen to do: invariants judge these facts and nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import Outcome
from quorate.consensus.journal import HardState, Position
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Entry, Message, Peer
from quorate.plugin import Row


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
    #: The snapshot that the data began with, which the pointer to it makes durable.
    installed: Position | None = None


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
    """A client proposes a command that is to be taken in one term alone."""

    command: LoggedCommand
    term: int


@dataclass(frozen=True, slots=True)
class Evaluated(Fact):
    """A leader evaluated commands for the entry at an index, which holds their effects."""

    index: int
    payload: bytes
    commands: tuple[LoggedCommand, ...]
    #: Logical time, as the leader's clock gave it.
    now_ms: int


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
    """The replica's state machine took an entry."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class StateAt(Fact):
    """The rows of the replica, right after an entry: what they are, in one number, and what
    the replica itself folded while it applied.
    """

    index: int
    digest: int
    checksum: int


@dataclass(frozen=True, slots=True)
class Installed(Fact):
    """The replica's state machine was replaced by a snapshot."""

    position: Position


@dataclass(frozen=True, slots=True)
class Acknowledged(Fact):
    """A client was told what came of its command, which it may have proposed several times."""

    command: LoggedCommand
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Refused(Fact):
    """A client was told that its command, proposed this once, will never be applied."""

    command: LoggedCommand


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
class Saw(Fact):
    """Who reads at a replica that had applied up to `index` saw this row; None: no row."""

    index: int
    family: str
    key: bytes
    row: Row | None


@dataclass(frozen=True, slots=True)
class StaleRead(Fact):
    """A client that had seen revision `at_least` was served at `revision`."""

    at_least: int
    revision: int


@dataclass(frozen=True, slots=True)
class WatchBegan(Fact):
    """A watcher wants everything after a revision; `revision` None: the rows first."""

    watch: int
    families: tuple[str, ...]
    revision: int | None


@dataclass(frozen=True, slots=True)
class WatchListed(Fact):
    """A watcher was given the rows as they were at a revision; what follows comes after it."""

    watch: int
    revision: int
    #: Family, key, value and revision.
    rows: tuple[tuple[str, bytes, bytes, int], ...]


@dataclass(frozen=True, slots=True)
class WatchSaw(Fact):
    """A watcher was given an event."""

    watch: int
    revision: int
    family: str
    key: bytes
    #: None: the row was deleted.
    value: bytes | None


@dataclass(frozen=True, slots=True)
class WatchReached(Fact):
    """A watcher was given everything up to a revision, and may come again from there."""

    watch: int
    revision: int


@dataclass(frozen=True, slots=True)
class WatchEnded(Fact):
    """A watcher was told, or found by itself, that it gets no more."""

    watch: int
    #: It was told to list again.
    resync: bool


@dataclass(frozen=True, slots=True)
class Stopped(Fact):
    """The replica stopped for good."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Forgotten(Fact):
    """The replica came back with less than its leader knows it to have, and has gone on since."""

    match: int
    last: int


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
    #: Of each family of the domain.
    rows: Mapping[str, dict[bytes, Row]]
