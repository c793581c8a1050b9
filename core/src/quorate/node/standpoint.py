"""The cluster and its shards, as far as this node knows them, for its plugins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from quorate.consensus.refusals import TransferRefusedError
from quorate.node.peers import Peers
from quorate.node.replicas import Replicas
from quorate.plugin import Invalid, Rejected
from quorate.plugin.advanced import ClusterStatus, ShardStatus
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NoLeaderError, NotProposedError

#: How long a transfer may take where its caller sets no deadline.
_TRANSFER_S: Final = 10.0

#: Transfers the leadership of a shard to a node, within some seconds.
Transfer = Callable[[ShardId, str, float], Awaitable[None]]


@dataclass(eq=False)
class Standpoint:
    """Reports what the node knows, and hands over what it leads."""

    _replicas: Replicas
    _peers: Peers
    _transfer: Transfer

    def cluster(self) -> ClusterStatus:
        """Return this node, its cluster, and the addresses of the nodes."""
        return ClusterStatus(
            node=self._replicas.shards.me.node,
            cluster=self._replicas.cluster,
            addresses=self._peers.addresses.known,
        )

    def shard(self, group: str, shard_key: bytes) -> ShardStatus:
        """Return the status of a shard, from its replica here or from reports of other nodes."""
        shard = self._replicas.shards.slot_map.place(group, shard_key)
        replica = self._replicas.shards.get(shard)
        if replica is None:
            term, leader = self._peers.census.leader(shard) or (0, "")
            applied = committed = 0
        else:
            term, leader = replica.term, "" if replica.leader is None else replica.leader.node
            applied, committed = replica.applied, replica.replica.commit
        return ShardStatus(
            group=shard.group,
            shard=shard.number,
            leader=leader,
            term=term,
            applied=applied,
            committed=committed,
        )

    def shard_bytes(self, group: str, shard_key: bytes) -> int:
        """Return the size of the database of a shard here; 0 without one."""
        shard = self._replicas.shards.slot_map.place(group, shard_key)
        replica = self._replicas.shards.get(shard)
        if replica is None:
            return 0
        engine = replica.data.engine
        return engine.files().tables + engine.memory().write_buffers

    async def transfer(
        self, node: str, group: str, shard_key: bytes, timeout_s: float | None
    ) -> None:
        """Transfer the leadership of a shard that this node leads; raises `Rejected`."""
        try:
            shard = self._replicas.shards.slot_map.place(group, shard_key)
            await self._transfer(shard, node, _TRANSFER_S if timeout_s is None else timeout_s)
        except NoLeaderError as error:
            raise Rejected("NOT_LEADER", str(error)) from None
        except (TransferRefusedError, NotProposedError, Invalid) as error:
            raise Rejected("FAILED_PRECONDITION", str(error)) from None
