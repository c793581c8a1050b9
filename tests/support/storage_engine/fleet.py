"""A cluster in memory with engines that register, lead, leave and acknowledge as they are told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.builtin.cluster.api import BROKERS
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker, RegisterBroker, UnregisterBroker
from quorate_storage_engine.engines.fleet import RACK, ROLE
from quorate_storage_engine.families import (
    DROPS,
    ENGINES,
    GROUP,
    SEGMENTS,
    SHARDS,
    engine_key,
    segment_key,
    shard_key,
)
from quorate_storage_engine.leadership.controllers import hold_elections
from quorate_storage_engine.leadership.log_ends import AskLogEnd
from quorate_storage_engine.leadership.queries import ADDRESS
from quorate_storage_engine.v1.commands_pb2 import (
    AcknowledgeDrops,
    CreateShard,
    DroppedSegment,
    IsrMember,
    LeaderClaim,
    ShardState,
    UpdateSegmentIsr,
)
from quorate_storage_engine.v1.rows_pb2 import (
    STORAGE_TYPE_SEGMENT,
    Drop,
    Engine,
    Segment,
    Shard,
    ShardConfig,
)
from quorate_storage_engine.v1.storage_node_pb2 import LogEndRequest, LogEndResponse


async def nobody(address: str, request: LogEndRequest, timeout_s: float) -> LogEndResponse:
    """Ask engines none of which answers."""
    raise OSError(f"nobody listens at {address}")


class EngineCluster:
    """Says in a word what a test or simulation has engines, operators and controllers do."""

    def __init__(self, config: Mapping[str, object] | None = None) -> None:
        self.node: Final = MemoryNode(
            ["cluster", "storage_engine", "tenant"], config={"storage_engine": dict(config or {})}
        )

    async def register(self, name: str, *, rack: str = "", address: str = "") -> int:
        """Register an engine, and return its broker epoch."""
        command = RegisterBroker(name=name, cluster_name="test", roles=[ROLE], ttl_ms=3_600_000)
        if rack:
            command.labels[RACK] = rack
        if address:
            command.addresses[ADDRESS] = address
        return (await self.node.propose(command, Broker)).epoch

    async def register_all(self, names: Iterable[str]) -> None:
        """Register engines in their order."""
        for name in names:
            await self.register(name)

    async def unregister(self, name: str) -> None:
        """End the registration of an engine: it left, or its heartbeats stayed away."""
        await self.node.propose(UnregisterBroker(name=name, epoch=self.broker_epoch(name)), Empty)

    def broker_epoch(self, name: str) -> int:
        """Return the epoch of an engine's registration; zero when there is none."""
        row = self.node.rows(BROKERS).get(engine_key(name))
        return 0 if row is None else Broker.FromString(row).epoch

    async def create_shard(self, name: str = "s", *, replicas: int = 3, least: int = 1) -> Segment:
        """Create a shard, and return its first segment."""
        config = ShardConfig(
            replicas=replicas, min_in_sync_replicas=least, storage=STORAGE_TYPE_SEGMENT
        )
        command = CreateShard(name=name, config=config)
        return (await self.node.propose(command, ShardState)).segment

    def claim(self, segment: Segment) -> LeaderClaim:
        """Return the claim of whoever leads a segment."""
        return LeaderClaim(
            engine=segment.leader,
            broker_epoch=segment.leader_broker_epoch,
            leader_epoch=segment.leader_epoch,
        )

    async def set_isr(self, segment: Segment, engines: Iterable[str]) -> Segment:
        """Have the leader of a segment replace the in-sync replicas."""
        command = UpdateSegmentIsr(
            shard=segment.shard,
            segment=segment.number,
            claim=self.claim(segment),
            segment_epoch=segment.segment_epoch,
            isr=[IsrMember(engine=name, broker_epoch=self.broker_epoch(name)) for name in engines],
        )
        return await self.node.propose(command, Segment)

    async def acknowledge(self, engine: str) -> None:
        """Have an engine drop all that it is asked to."""
        asked = [drop for drop in self.drops() if drop.engine == engine]
        command = AcknowledgeDrops(
            engine=engine,
            broker_epoch=self.broker_epoch(engine),
            segments=[
                DroppedSegment(
                    shard_uid=drop.shard_uid,
                    segment=drop.segment,
                    segment_epoch=drop.segment_epoch,
                )
                for drop in asked
            ],
        )
        await self.node.propose(command, BatchReply)

    async def hold_elections(self, ask: AskLogEnd = nobody) -> None:
        """Run the controller that replaces leaders, with a way to ask engines."""
        await hold_elections(self.node, self.node.leader(GROUP), ask=ask)

    async def place_replicas(self) -> None:
        """Run the controller that adds and moves replicas."""
        await self.node.run_controller("storage_engine.replica_placing")

    async def collect_garbage(self) -> None:
        """Run the controller that removes what was marked."""
        await self.node.run_controller("storage_engine.garbage_collection")

    async def balance(self) -> None:
        """Run the controller that gives leadership back."""
        await self.node.run_controller("storage_engine.leader_balancing")

    def shard(self, name: str = "s") -> Shard | None:
        """Return a shard's row."""
        row = self.node.rows(SHARDS).get(shard_key(name))
        return None if row is None else Shard.FromString(row)

    def segment(self, shard: str = "s", number: int = 0) -> Segment:
        """Return a segment's row; raises `KeyError`."""
        return Segment.FromString(self.node.rows(SEGMENTS)[segment_key(shard, number)])

    def segments(self) -> list[Segment]:
        """Return all segments in their order."""
        return [Segment.FromString(row) for row in self.node.rows(SEGMENTS).values()]

    def engines(self) -> dict[str, Engine]:
        """Return what engines carry, by name."""
        rows = map(Engine.FromString, self.node.rows(ENGINES).values())
        return {engine.name: engine for engine in rows}

    def drops(self) -> list[Drop]:
        """Return what engines are asked to drop."""
        return [Drop.FromString(row) for row in self.node.rows(DROPS).values()]
