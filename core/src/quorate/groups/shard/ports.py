"""What a shard asks of the node around it: other replicas, and the sending of snapshots."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Message, Peer
from quorate.consensus.peer.network import PeerNetwork
from quorate.plugin.shard_id import ShardId

if TYPE_CHECKING:
    from quorate.groups.shard.shard import Shard


class PeerPort(Protocol):
    """Carries messages to the other replicas of a shard; what cannot go is dropped."""

    def send(self, shard: ShardId, messages: Sequence[Message]) -> None:
        """Put messages on their way. What comes back is given to `Shard.receive`."""


class SyncPort(Protocol):
    """Makes the node's log durable; `Shard.synced` is told when that has happened."""

    def request(self) -> None:
        """See to it that what was written becomes durable."""


class SnapshotSender(Protocol):
    """Sends a shard's state to followers whose entries were cut from the log."""

    def needed(self, shard: Shard, peers: Sequence[Peer]) -> None:
        """Begin to send; a transfer that fails ends in `Shard.snapshot_given_up`."""


@dataclass(frozen=True, slots=True)
class Membership:
    """A committed configuration, and its index."""

    index: int
    configuration: Configuration


class MembershipPort(Protocol):
    """Asks other nodes who belongs to a shard: a removed replica is told nothing by consensus."""

    def ask(self, shard: ShardId, node: str) -> asyncio.Future[Membership | None]:
        """Return what `Shard.membership` is on another node; None where nobody knows."""


def replica_name(shard: ShardId, epoch: int) -> str:
    """Return what a replica is called on streams and in logs: each history has its own name."""
    return f"{shard}#{epoch}" if epoch else str(shard)


class NetworkPeers:
    """The peers behind a node's streams, in the history that a shard has now."""

    def __init__(self, network: PeerNetwork, epoch: int = 0) -> None:
        self._network: Final = network
        self._epoch: Final = epoch

    def send(self, shard: ShardId, messages: Sequence[Message]) -> None:
        """Queue messages on the streams."""
        self._network.send(replica_name(shard, self._epoch), messages)
