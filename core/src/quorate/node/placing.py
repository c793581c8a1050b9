"""Operators' requests about the placement of replicas."""

from dataclasses import dataclass
from typing import Final

from quorate.control.placement import Placement
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.shards.router import Router
from quorate.topology.planner import Move
from quorate.topology.replicas.census import Census
from quorate.v1 import admin_pb2 as pb
from quorate.v1.control_pb2 import DrainNode

_RECORD_S: Final = 15.0


@dataclass(eq=False)
class Placing:
    """Shows the placement, and proposes changes of it to metadata/0."""

    _placement: Placement
    _router: Router
    _census: Census

    async def show(self) -> pb.PlacementResponse:
        """Return the replicas of each node, the moves under way and the planned ones."""
        await self._placement.catch_up()
        places = self._placement.places()
        made = places.plan()
        return pb.PlacementResponse(
            nodes=[
                pb.PlacedNode(
                    node=name,
                    machine=site.machine,
                    zone=site.zone,
                    drains=name in places.drained,
                    answers=name in places.answering,
                    replicas=len(places.held(name)),
                    leads=sum(
                        1
                        for each in places.shards
                        if (led := self._census.leader(each.shard)) is not None and led[1] == name
                    ),
                )
                for name, site in sorted(places.sites.items())
            ],
            moving=[
                pb.PlannedMove(
                    shard=str(each.shard),
                    source="" if each.source is None else each.source.node,
                    target="" if each.target is None else each.target.node,
                )
                for each in places.moving
            ],
            planned=map(_shown, made.moves),
            problems=made.problems,
        )

    async def drain(self, request: pb.DrainNodeRequest) -> pb.DrainNodeResponse:
        """Drain a node of its replicas, or undo that; raises `Rejected` if it cannot be drained."""
        await self._placement.catch_up()
        replicas, moves = 0, list[Move]()
        if not request.undo:
            replicas, moves = self._placement.check_drain(request.node)
        if not request.check_only:
            command = DrainNode(node=request.node, drains=not request.undo)
            await self._router.propose_control(METADATA, command, timeout_s=_RECORD_S)
        return pb.DrainNodeResponse(replicas=replicas, moves=map(_shown, moves))

    async def move(self, request: pb.MoveReplicaRequest, shard: ShardId) -> None:
        """Begin to move a replica; raises `Rejected` if it must not move."""
        await self._placement.catch_up()
        command = self._placement.move(shard, request.source, request.target)
        if not request.check_only:
            await self._router.propose_control(METADATA, command, timeout_s=_RECORD_S)


def _shown(move: Move) -> pb.PlannedMove:
    return pb.PlannedMove(shard=str(move.shard), source=move.source or "", target=move.target or "")
