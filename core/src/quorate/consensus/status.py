"""What a replica says of itself, and of what was proposed to it."""

from dataclasses import dataclass

from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Peer


@dataclass(frozen=True, slots=True)
class Proposed:
    """Where a proposal stands in the log; it may still be overwritten there."""

    index: int
    term: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerStatus:
    """What a leader knows of one follower."""

    peer: Peer
    mode: str
    match: int
    next: int
    heard_ago_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaStatus:
    """What a replica is doing, for people and for tests."""

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
