"""The messages between replicas, and the entries of the log."""

from enum import IntEnum
from typing import Final, Literal, NamedTuple

Lane = Literal["control", "bulk"]


class Peer(NamedTuple):
    """A replica's identity: its node, and the number drawn when its directory was created.

    A node that lost its disk has another number, and is a stranger.
    """

    node: str
    replica: int

    def __str__(self) -> str:
        return f"{self.node}#{self.replica:016x}"


class EntryKind(IntEnum):
    """What an entry is to consensus; the layers above see only the payload of a command."""

    NOOP = 1
    COMMAND = 2
    CONFIG = 3


#: The member of an enumeration is looked up by a call, and these are asked for with each entry.
COMMAND: Final = EntryKind.COMMAND
CONFIG: Final = EntryKind.CONFIG


class Entry(NamedTuple):
    """One position of the log."""

    index: int  # type: ignore[assignment]  # it hides the method of tuples
    term: int
    kind: EntryKind
    payload: bytes


#: Makes a named tuple of a tuple of its fields, which its own constructor takes twice as long for.
new: Final = tuple.__new__

#: Bytes that an entry takes in addition to its payload, in memory and on the wire.
ENTRY_OVERHEAD: Final = 32


def weight(entry: Entry) -> int:
    """Return the bytes that an entry counts for in every limit."""
    return len(entry.payload) + ENTRY_OVERHEAD


class RequestVote(NamedTuple):
    """A candidate's request for a vote; `pre`: whether it would get one."""

    last_index: int
    last_term: int
    pre: bool
    #: The leader requested this election, so stickiness does not apply.
    transfer: bool = False


class VoteReply(NamedTuple):
    """The answer to a vote or pre-vote that was asked for in term `for_term`."""

    granted: bool
    pre: bool
    for_term: int


class Append(NamedTuple):
    """Entries that follow the one at `prev_index`; the only message of the bulk lane."""

    prev_index: int
    prev_term: int
    entries: tuple[Entry, ...]
    commit: int


class AppendReply(NamedTuple):
    """The answer to an append; `prev_index` names the append that is answered.

    Success: the follower holds the leader's log up to `match`, durably. Else its log ends or
    differs: `hint_index` is the first index of the conflicting term, or its end + 1.
    """

    success: bool
    prev_index: int
    match: int
    hint_index: int = 0
    hint_term: int = 0


class Heartbeat(NamedTuple):
    """The leader lives. `commit` is never beyond what the follower is known to hold."""

    commit: int
    #: The newest read round; an answer that carries it confirms that round.
    round: int
    #: The commit index of the leader; 0 while unknown. A follower does not commit by it, but
    #: measures its lag.
    agreed: int = 0


class HeartbeatReply(NamedTuple):
    """The answer to a heartbeat.

    `match` repeats the newest success of this term, or names what is committed, durably.
    """

    round: int
    match: int


class TimeoutNow(NamedTuple):
    """The leader transfers leadership: campaign at once."""


class ReadRequest(NamedTuple):
    """A follower asks its leader for a read index."""

    token: int


class ReadReply(NamedTuple):
    """The answer: an index that is safe to read at once applied, or 0 for none."""

    token: int
    index: int  # type: ignore[assignment]  # it hides the method of tuples


class Hibernate(NamedTuple):
    """The leader asks to rest: its log ends at `index`, which is committed.

    It is a heartbeat, too. `epoch` is that of the leader's node; see `liveness`.
    """

    index: int  # type: ignore[assignment]  # it hides the method of tuples
    epoch: int


class Hibernating(NamedTuple):
    """The follower agrees: it holds the log up to `index`, durably, and rests until it is woken."""

    index: int  # type: ignore[assignment]  # it hides the method of tuples
    epoch: int


class Wakeup(NamedTuple):
    """A follower rests no more: a leader at rest must say that it lives."""


class Alive(NamedTuple):
    """A node lives. It is sent by a node to a node, for no shard."""

    epoch: int


Body = (
    RequestVote
    | VoteReply
    | Append
    | AppendReply
    | Heartbeat
    | HeartbeatReply
    | TimeoutNow
    | ReadRequest
    | ReadReply
    | Hibernate
    | Hibernating
    | Wakeup
    | Alive
)


class Message(NamedTuple):
    """A body with the identity and the term of its sender.

    In a pre-vote request, and in a grant of it, `term` is the one that the candidate would lead in.
    """

    source: Peer
    target: Peer
    term: int
    #: The index of the configuration that the sender acts under.
    config_index: int
    body: Body


def lane(body: Body) -> Lane:
    """Return the stream for a body: votes and heartbeats never wait for entries."""
    return "bulk" if isinstance(body, Append) else "control"
