"""Finds the other nodes, and carries the messages between replicas."""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from google.protobuf.message import DecodeError

from quorate.apply import levels
from quorate.config import Settings
from quorate.consensus.formation import Introduction
from quorate.consensus.liveness import Liveness
from quorate.consensus.messages import Peer
from quorate.consensus.peer.network import IntroductionRefusedError, PeerHooks, PeerNetwork
from quorate.node import tuning
from quorate.node.forming import Forming
from quorate.node.ground import Ground
from quorate.node.neighbours import Neighbours
from quorate.node.starts import Starts
from quorate.plugin.shard_id import METADATA
from quorate.rpc.asking import NodeClocks, NodeMembership
from quorate.rpc.channels import NodeChannels
from quorate.rpc.server import RpcServer
from quorate.shards.shard.shard import Shard
from quorate.shards.snapshots.queue import SnapshotQueue, SnapshotReceiver
from quorate.shards.snapshots.rpc import NetworkSnapshots
from quorate.shards.timing import end, every, pause
from quorate.shards.topology_rows import stored_rows
from quorate.storage.families import MEMBERS, NODES
from quorate.topology.replicas.census import Census
from quorate.topology.replicas.node_shards import NodeShards
from quorate.v1.admin_pb2 import NodeAddress
from quorate.v1.control_pb2 import MemberRow, NodeDeclaration
from quorate.v1.node_pb2 import NodeIntroduction

_log = logging.getLogger(__name__)

TOO_OLD: Final = "its release is too old for the levels that are in force"

#: Interval of asking the other nodes for all addresses until this node is a member.
_ASK_S: Final = 0.5
#: Interval of asking the others whether this directory still belongs to another cluster.
_AGAIN_S: Final = 2.0


def addresses_of(settings: Settings) -> Mapping[str, str]:
    """Return the addresses of nodes in a node's file, including its own."""
    node, cluster = settings.node, settings.cluster
    return {node.name: node.address, **(cluster.join or cluster.initial_members)}


class Addresses:
    """The addresses of all nodes, including this one.

    The address that an operator gave when adding a node takes precedence, then the one in this
    node's file, then the one that the node declares, then reports of others from before metadata/0
    was known.
    """

    def __init__(self, own: Mapping[str, str]) -> None:
        self._own: Final = dict(own)
        self._know: Callable[[Mapping[str, str]], None] = lambda _: None
        self._heard: dict[str, str] = {}
        self._reported: dict[str, str] = {}
        self._given: dict[str, str] = {}
        #: The address of each node.
        self.known: Mapping[str, str] = self._own
        self._changes_read = -1

    def share(self, know: Callable[[Mapping[str, str]], None]) -> None:
        """Pass the addresses to a callback, now and whenever they change."""
        self._know = know
        know(self.known)

    def hear(self, nodes: Mapping[str, str]) -> None:
        """Add the addresses that another node of the cluster knows."""
        self._heard.update(nodes)
        self._settle()

    def follow(self, metadata: Shard) -> None:
        """Follow the addresses in metadata/0 from now on."""
        metadata.subscribe(lambda _: self._read(metadata))
        self._read(metadata)

    def _read(self, metadata: Shard) -> None:
        changes = metadata.applier.cluster_changes
        if changes == self._changes_read:
            return
        self._changes_read = changes
        nodes = stored_rows(metadata.data, NODES, NodeDeclaration)
        members = stored_rows(metadata.data, MEMBERS, MemberRow)
        self._reported = {row.node: row.address for row in nodes}
        self._given = {row.node: row.address for row in members if row.address}
        self._settle()

    def _settle(self) -> None:
        known = self._heard | self._reported | self._own | self._given
        if known != self.known:
            self.known = known
            self._know(known)


class Peers:
    """Finds the cluster, and carries the traffic of replicas, snapshots and nodes."""

    def __init__(
        self,
        ground: Ground,
        shards: NodeShards,
        forming: Forming,
        starts: Starts,
    ) -> None:
        settings, certificates, loop = ground.settings, ground.certificates, ground.loop
        own, limits = addresses_of(settings), tuning.stream_limits(settings)
        self._others: Final = own.keys() - {shards.me.node}
        self._forming: Final = forming
        self.addresses: Final = Addresses(own)
        self._shards: Final = shards
        self.neighbours: Final = Neighbours(self._others)
        #: Gets the reason once the directory turns out to belong to another cluster.
        self.on_misplaced: Callable[[str], None] = lambda why: None
        #: Gets a node that has met a later start of this one.
        self.on_outdated: Callable[[str], None] = lambda node: None
        self._starts: Final = starts
        #: The levels that the connected nodes support.
        self._can: Final[dict[str, Mapping[str, int]]] = {}
        shards.on_map(self._look_at_levels)
        timing = tuning.shard_settings(settings).timing
        self._loop: Final = loop
        self._heartbeat_s: Final = timing.heartbeat_s
        self._beating: asyncio.Task[None] | None = None
        #: The heartbeats of nodes, which let idle shards rest.
        self.liveness: Final = Liveness(
            loop.time, timing, random.getrandbits(61), lambda epoch: self.network.beat(epoch)
        )
        self.network: Final = PeerNetwork(
            shards.me,
            settings.cluster.token.get_secret_value(),
            PeerHooks(
                deliver=shards.deliver,
                remade=shards.remade,
                admit=shards.admits,
                config_index=shards.config_index,
                introduced=self._introduced,
                alive=self.liveness.hear,
                judge=self._judge,
                met=self._met,
                start=lambda: starts.own,
                is_newest=starts.is_newest,
                outdated=lambda node: self.on_outdated(node),
                takes_hash=lambda: shards.level(levels.CORE) < levels.CHALLENGED_FROM,
            ),
            rng=random.Random(),
            limits=limits,
            tls=None if certificates is None else certificates.peers(),
        )
        self.channels: Final = NodeChannels(self.network)
        self.membership: Final = NodeMembership(self.channels, loop)
        self.census: Final = Census(loop.time)
        self.clocks: Final = NodeClocks(
            self.channels,
            lambda: sorted(self.network.addresses),
            loop,
            heard=lambda node, answer: self.census.hear(node, answer.led, full=answer.full),
            before=lambda: self.census.hear(shards.me, shards.led()),
        )
        #: The former replicas of this node, until the cluster has added it again.
        self.lost: Sequence[int] = ()
        #: Gets a node that has lost its former replicas, its address, and these replicas.
        self.on_lost: Callable[[Peer, str, Sequence[int]], None] = lambda node, at, lost: None
        self._transfers: Final = NetworkSnapshots(self.network, limits)
        self.snapshots: Final = SnapshotQueue(self._transfers, loop=loop)
        self._receiver: Final = SnapshotReceiver(shards.replica, loop=loop)

    def add_to(self, server: RpcServer) -> None:
        """Serve the connections and snapshots of other nodes."""
        self.network.add_to(server)
        self._transfers.add_to(server, self._receiver.begin)

    # Life.

    async def find_cluster(self, waits: Callable[[str], None]) -> bytes:
        """Form a cluster or find it, and return its first entry; raises `FormationRefusedError`.

        While the directory belongs to another cluster than the others', `waits` gets the reason.
        """
        self.addresses.share(self.network.know)
        if not (entry := self.first_entry()):
            return await self._forming.first_entry(self.network.introduce, self._others)
        while (why := await self._misplaced()) is not None:
            _log.error("this node does not serve: %s", why)
            waits(why)
            await pause(self._loop, _AGAIN_S)
        return entry

    def join(self, cluster: bytes) -> None:
        """Begin a new start, and connect to the nodes of this cluster."""
        self._starts.begin()
        self.network.join(cluster)
        self.clocks.start()

    def live(self) -> None:
        """Start to send heartbeats, on which leaders of shards at rest contact this node.

        While it still opens the replicas of many shards, they would do so in vain.
        """
        if self._beating is None:
            beats = every(
                self._loop, self._heartbeat_s, self.liveness.beat, "cannot send heartbeats"
            )
            self._beating = self._loop.create_task(beats)

    async def admitted(self, metadata: Shard) -> None:
        """Return once this node's replica of metadata/0 knows its members.

        Until then the node asks the others for all addresses.
        """
        if metadata.configuration is not None:
            return
        come = asyncio.Event()
        cancel = metadata.subscribe(lambda _: come.set())
        _log.info(
            "waiting to be added: run `quorate member add %s ADDRESS`, with the address at which"
            " the other nodes reach this one",
            metadata.me.node,
        )
        try:
            while metadata.configuration is None:
                await self.introduce()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_ASK_S):
                        await come.wait()
        finally:
            cancel()

    async def introduce(self) -> None:
        """Introduce this node to the others, and learn the addresses of all nodes."""
        await asyncio.gather(*map(self._ask, sorted(self._others)))

    async def stop(self) -> None:
        """Close all connections."""
        await end(self._beating)
        await self.snapshots.stop()
        await self.clocks.stop()
        await self.membership.stop()
        await self.channels.close()
        await self.network.stop()

    # For changes of members.

    def first_entry(self) -> bytes:
        """Return the first entry of this node's cluster; empty while it has none."""
        return self._forming.introduction.first_entry

    async def meet(self, node: str, address: str) -> Introduction:
        """Return the introduction of a node at an address; raises `IntroductionRefusedError`."""
        return await self.network.introduce(node, self._introduction(), address)

    # Introductions.

    def _introduction(self) -> Introduction:
        """Return the introduction of this node: its identity, declaration and known addresses."""
        known = sorted(self.addresses.known.items())
        metadata = self._shards.replica(METADATA)
        about = NodeIntroduction(
            declaration=self._shards.declaration,
            nodes=[NodeAddress(node=node, address=address) for node, address in known],
            lost=self.lost,
            levels=levels.rows_of(self._shards.levels),
            has_been_member=metadata is not None and metadata.configuration is not None,
        )
        return replace(self._forming.introduction, about=about.SerializeToString())

    def _introduced(self, other: Introduction) -> Introduction:
        """Answer another node; raises `FormationRefusedError`."""
        self._forming.receive(other)
        metadata = self._shards.replica(METADATA)
        about = _about(other)
        if other.first_entry and (metadata is None or metadata.configuration is None):
            self._hear(about)
        elif about.lost and other.first_entry == self.first_entry():
            self.on_lost(other.peer, about.declaration.address, about.lost)
        return self._introduction()

    def _judge(self, other: Introduction) -> str | None:
        """Return why not to send to a node, or None; levels beyond this node's own end this one."""
        about = _about(other)
        self._shards.heard_levels(levels.by_feature(about.levels))
        self._can[other.peer.node] = can = levels.by_feature(about.declaration.levels)
        return TOO_OLD if levels.lacking(can, self._shards.levels) else None

    def _look_at_levels(self) -> None:
        """Reconnect if the release of a connected node lacks a level in force."""
        if any(levels.lacking(can, self._shards.levels) for can in self._can.values()):
            self._can.clear()
            self.network.reconnect()

    def _hear(self, about: NodeIntroduction) -> None:
        """Add the addresses in another node's introduction."""
        self.addresses.hear({each.node: each.address for each in about.nodes})

    def _met(self, node: str, ours: bool) -> None:
        self.neighbours.met(node, ours=ours)
        if (why := self.neighbours.misplaced) is not None:
            self.on_misplaced(why)

    async def _misplaced(self) -> str | None:
        """Ask the others until one belongs to this cluster; return why this directory does not."""
        asking = [self._loop.create_task(self._ask(node)) for node in sorted(self._others)]
        for each in asyncio.as_completed(asking):
            await each
            if self.neighbours.confirmed:
                break
        await end(*asking)
        return self.neighbours.misplaced

    async def _ask(self, node: str) -> None:
        try:
            other = await self.network.introduce(node, self._introduction())
        except IntroductionRefusedError as error:
            _log.debug("cannot ask where the nodes are: %s", error)
            return
        if other.first_entry:
            ours = other.first_entry == self.first_entry()
            self.neighbours.met(node, ours=ours)
            if ours:
                self._hear(_about(other))


def _about(other: Introduction) -> NodeIntroduction:
    try:
        return NodeIntroduction.FromString(other.about)
    except DecodeError:
        return NodeIntroduction()
