"""The ports of a shard to its node: other replicas, syncs and snapshots."""

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
    """Sends messages to the other replicas of a shard; it may drop them."""

    def send(self, shard: ShardId, messages: Sequence[Message]) -> None:
        """Send messages. Answers go to `Shard.receive`."""


class SyncPort(Protocol):
    """Makes the node's log durable, and calls `Shard.synced` after it."""

    def request(self) -> None:
        """Schedule a sync of what was written."""


class SnapshotSender(Protocol):
    """Sends a shard's state to followers that need compacted entries."""

    def needed(self, shard: Shard, peers: Sequence[Peer]) -> None:
        """Start to send; a failed transfer calls `Shard.snapshot_given_up`."""


@dataclass(frozen=True, slots=True)
class Membership:
    """A committed configuration, and its index."""

    index: int
    configuration: Configuration


class MembershipPort(Protocol):
    """Asks other nodes for the members of a shard: consensus does not inform a removed replica."""

    def ask(self, shard: ShardId, node: str) -> asyncio.Future[Membership | None]:
        """Return `Shard.membership` of another node, or None if no node knows."""


def replica_name(shard: ShardId, epoch: int) -> str:
    """Return the name of a replica on streams and in logs, which includes its history."""
    return f"{shard}#{epoch}" if epoch else str(shard)


class NetworkPeers:
    """The peers on a node's streams, in the current history of a shard."""

    def __init__(self, network: PeerNetwork, epoch: int = 0) -> None:
        self._network: Final = network
        self._epoch: Final = epoch

    def send(self, shard: ShardId, messages: Sequence[Message]) -> None:
        """Enqueue messages on the streams."""
        self._network.send(replica_name(shard, self._epoch), messages)
