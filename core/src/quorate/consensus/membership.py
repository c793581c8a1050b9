"""The members of a shard: a list that is replicated as an entry."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from google.protobuf.message import DecodeError

from quorate.consensus.messages import Peer
from quorate.v1 import consensus_pb2


@dataclass(frozen=True, slots=True, order=True)
class Member:
    """One replica of a shard; a learner receives entries and counts in no majority."""

    peer: Peer
    voter: bool = True


@dataclass(frozen=True)
class Configuration:
    """The members in the order of their nodes, which is the same on every machine."""

    members: tuple[Member, ...]

    @classmethod
    def of(cls, members: Iterable[Member]) -> Self:
        """Sort the members; raises `ValueError` if a node is named twice or there is no voter."""
        ordered = tuple(sorted(members))
        if len({member.peer.node for member in ordered}) != len(ordered):
            raise ValueError("a node is named twice")
        if not any(member.voter for member in ordered):
            raise ValueError("no member votes")
        return cls(ordered)

    @cached_property
    def voters(self) -> tuple[Peer, ...]:
        """The replicas whose votes and acknowledgements count."""
        return tuple(member.peer for member in self.members if member.voter)

    @cached_property
    def voting_nodes(self) -> frozenset[str]:
        """The nodes of the voters."""
        return frozenset(peer.node for peer in self.voters)

    @cached_property
    def peers(self) -> tuple[Peer, ...]:
        """All replicas."""
        return tuple(member.peer for member in self.members)

    @cached_property
    def majority(self) -> int:
        """The number of voters in a majority."""
        return len(self.voters) // 2 + 1

    def peer_of(self, node: str) -> Peer | None:
        """Return the replica of a node."""
        return next((peer for peer in self.peers if peer.node == node), None)

    def changes_one_voter(self, other: "Configuration") -> bool:
        """Whether the majorities of both overlap: they differ by at most one voter."""
        return len(set(self.voters) ^ set(other.voters)) <= 1

    def encode(self) -> bytes:
        """Return the payload of a CONFIG entry."""
        return consensus_pb2.Configuration(
            members=[
                consensus_pb2.Member(node=m.peer.node, replica=m.peer.replica, voter=m.voter)
                for m in self.members
            ]
        ).SerializeToString(deterministic=True)

    @classmethod
    def decode(cls, payload: bytes) -> Self:
        """Read the payload of a CONFIG entry; raises `ValueError` for anything else."""
        try:
            stored = consensus_pb2.Configuration.FromString(payload)
        except DecodeError as error:
            raise ValueError(f"not a configuration: {error}") from None
        return cls.of(Member(Peer(m.node, m.replica), m.voter) for m in stored.members)
