"""The status of replicas and proposals."""

from dataclasses import dataclass
from typing import Final

from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Peer


@dataclass(slots=True, unsafe_hash=True)
class Proposed:
    """The position of a proposal in the log, where it may still be overwritten."""

    index: Final[int]
    term: Final[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerStatus:
    """A leader's view of a follower."""

    peer: Peer
    mode: str
    match: int
    next: int
    silent_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaStatus:
    """The status of a replica, for operators and tests."""

    role: str
    term: int
    voted_for: Peer | None
    leader: Peer | None
    first: int
    last: int
    synced: int
    commit: int
    applied: int
    configuration: Configuration | None
    configuration_index: int
    followers: tuple[FollowerStatus, ...]
