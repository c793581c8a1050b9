"""The only module with PySyncObj's private names; it exposes their state under the paper's names.

`Inherited` keeps PySyncObj's construction, state, accessors and seams. Every method that decides
something is replaced by `Replica` (with `@replaces`) or closed here.
"""

import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, NoReturn, TypeVar

import pysyncobj
import pysyncobj.transport
from pysyncobj.node import Node
from pysyncobj.syncobj import _RAFT_STATE

from quorate.consensus.log import RaftLog
from quorate.consensus.messages import Message, Peer

F = TypeVar("F", bound=Callable[..., Any])

FOLLOWER: Final = _RAFT_STATE.FOLLOWER
CANDIDATE: Final = _RAFT_STATE.CANDIDATE
LEADER: Final = _RAFT_STATE.LEADER
ROLE_NAMES: Final = {FOLLOWER: "follower", CANDIDATE: "candidate", LEADER: "leader"}

_PREFIX: Final = "_SyncObj__"

#: PySyncObj's private names of the state, and ours, which are read with each message.
_STATE: Final = {
    "__raftState": "role",
    "__raftCurrentTerm": "term",
    "__votedForNodeId": "voted_for",
    "__raftLeader": "leader",
    "__raftCommitIndex": "commit",
    "__raftLastApplied": "applied",
    "__raftElectionDeadline": "election_deadline",
    "__newAppendEntriesTime": "heartbeat_deadline",
    "__noopIDx": "noop_index",
    "__raftLog": "log",
    "__transport": "outbox",
}

#: What this replica takes from PySyncObj as it is: construction, state, seams and accessors.
KEPT: Final = (
    "__getCurrentLogIndex",
    "__getCurrentLogTerm",
    "__init__",
    "__onSetCodeVersion",
    "__setCurrentTerm",
    "__setState",
    "_destroy",
    "_doDestroy",
    "_getConf",
    "_getEncryptor",
    "_getLeader",
    "_getRaftLogSize",
    "_getTerm",
    "_isLeader",
    "conf",
    "destroy",
    "encryptor",
    "otherNodes",
    "raftCommitIndex",
    "raftCurrentTerm",
    "raftLastApplied",
    "selfNode",
)


class NotOfferedError(Exception):
    """The called method of PySyncObj is not supported."""


def replaces(name: str) -> Callable[[F], F]:
    """Declare that a method replaces PySyncObj's method `name`, which may be private."""

    def declare(method: F) -> F:
        method.replaces = name  # type: ignore[attr-defined]
        return method

    return declare


def mangled(name: str) -> str:
    """Return the attribute under which PySyncObj finds its own `__name`."""
    return name.replace("__", _PREFIX, 1) if name.startswith("__") else name


class Outbox(pysyncobj.transport.Transport):
    """PySyncObj's transport seam: holds messages until the writes they depend on are durable."""

    def __init__(self) -> None:
        super().__init__(None, None, [])
        self._held: Final[list[tuple[int, Message]]] = []

    @property
    def ready(self) -> bool:
        """Do nothing: the streams belong to the driver."""
        return True

    @property
    def is_empty(self) -> bool:
        """Whether it holds no message."""
        return not self._held

    def hold(self, message: Message, needs: int) -> None:
        """Keep a message until the write numbered `needs` is durable."""
        self._held.append((needs, message))

    def release(self, synced: int) -> list[Message]:
        """Return the messages that may be sent, in order."""
        free = [message for needs, message in self._held if needs <= synced]
        if free:
            self._held[:] = [held for held in self._held if held[0] > synced]
        return free


class Inherited(pysyncobj.SyncObj):
    """PySyncObj's state and accessors, and none of its decisions."""

    role: int
    term: int
    voted_for: Peer | None
    leader: Peer | None
    commit: int
    applied: int
    election_deadline: float
    #: PySyncObj's constructor looks at every attribute before it has set this one.
    heartbeat_deadline: float = 0.0
    #: The first index of this term: reads and membership changes wait for its commit.
    noop_index: int | None
    log: RaftLog
    outbox: Outbox

    def __init_subclass__(cls) -> None:
        for name, method in list(vars(cls).items()):
            replaced = getattr(method, "replaces", None)
            if replaced is not None:
                setattr(cls, mangled(replaced), _standing_in(name))

    def __init__(self, me: Peer, log: RaftLog) -> None:
        # PySyncObj checks these settings and asks for no more of them: time is `Timing`'s.
        settings = pysyncobj.SyncObjConf(autoTick=False, dynamicMembershipChange=True)
        super().__init__(Node(me.node), [], settings, transport=Outbox())
        # The constructor read an empty journal of its own; this is the real one, read again.
        self.log = log
        self.term, self.voted_for = log.getCurrentTerm(), log.getVotedForNodeId()
        if log.last.term > self.term:
            # A crash came between the install of a snapshot and the write of its term, which
            # must be durable before anything is sent in it.
            self.set_hard_state(log.last.term, None)

    def set_hard_state(self, term: int, voted_for: Peer | None) -> None:
        """Adopt a term and a vote, and write them."""
        getattr(self, mangled("__setCurrentTerm"))(term, voted_for)

    def set_role(self, role: int) -> None:
        """Become follower, candidate or leader."""
        getattr(self, mangled("__setState"))(role)

    def set_members(self, peers: tuple[Peer, ...]) -> None:
        """Set the other members for PySyncObj's accessors."""
        others = {Node(peer.node) for peer in peers if Node(peer.node) != self.selfNode}
        setattr(self, mangled("__otherNodes"), others)


def _standing_in(name: str) -> Callable[..., Any]:
    """Look the replacement up at the call, so that a subclass of it counts."""

    def stand_in(self: object, *arguments: object, **named: object) -> Any:
        return getattr(self, name)(*arguments, **named)

    return stand_in


def _alias(name: str) -> property:
    def write(self: object, value: object) -> None:
        setattr(self, name, value)

    return property(operator.attrgetter(name), write)


def _close(name: str) -> Callable[..., NoReturn]:
    def closed(self: object, *arguments: object, **named: object) -> NoReturn:
        raise NotOfferedError(f"{name} of PySyncObj is not offered; see docs/explanation/consensus")

    return closed


for _private, _public in _STATE.items():
    setattr(Inherited, mangled(_private), _alias(_public))

# What this replica does not support: it proposes bytes to leaders only, changes whole
# configurations, takes snapshots out of band, and has no thread. `@replaces` opens again what a
# subclass has a method for.
for _name, _method in vars(pysyncobj.SyncObj).items():
    _plain = _name.replace(_PREFIX, "__", 1)
    if isinstance(_method, FunctionType | property) and _plain not in KEPT:
        setattr(Inherited, _name, _close(_plain))
