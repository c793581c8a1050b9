"""The controllers that give segments leaders, on the node that leads the metadata shard."""

from __future__ import annotations

from functools import partial
from typing import Final

from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.plugin.batches import carry_out, read_pages
from quorate.v1.batch_pb2 import BatchReply

from quorate_storage_engine.config import StorageEngineConfig
from quorate_storage_engine.families import GROUP
from quorate_storage_engine.leadership.log_ends import (
    AskLogEnd,
    ask_candidates,
    ask_over_grpc,
    best,
)
from quorate_storage_engine.metrics import ELECTIONS
from quorate_storage_engine.segments.rows import seen, seen_id
from quorate_storage_engine.v1 import commands_pb2 as pb, queries_pb2 as asked


async def hold_elections(node: NodeApi, shard: ShardRef, *, ask: AskLogEnd = ask_over_grpc) -> None:
    """Replace leaders that are gone, then recover the segments that have no leader."""
    await switch_leaders(node, shard)
    await recover(node, shard, ask)


async def switch_leaders(node: NodeApi, shard: ShardRef) -> None:
    """Elect a live in-sync replica for each segment that has lost its leader."""
    limit = node.config(StorageEngineConfig).batch
    while True:
        query = asked.FindOrphansQuery(limit=limit)
        orphans = [found async for found in node.query(query, pb.SeenSegment)]
        if not orphans:
            return
        switched = await carry_out(node, shard, pb.SwitchLeaders(segments=orphans))
        if not switched:
            return
        node.count(ELECTIONS.name, switched, reason="switch")


async def recover(node: NodeApi, shard: ShardRef, ask: AskLogEnd) -> None:
    """Ask the last known in-sync replicas of unavailable segments, and elect the best of them."""
    config = node.config(StorageEngineConfig)

    def query(last: asked.RecoverableSegment | None) -> asked.FindRecoverableQuery:
        after = seen_id(seen(last.segment) if last else None)
        return asked.FindRecoverableQuery(limit=config.batch, after=after)

    async for page in read_pages(node, query, asked.RecoverableSegment, config.batch):
        answers = await ask_candidates(page, ask, config.log_end_timeout_s)
        elections = []
        for each in page:
            segment = each.segment
            chosen = best(segment, answers.get((segment.shard, segment.number), ()))
            if chosen is not None:
                elections.append(
                    pb.Election(
                        seen=seen(segment),
                        engine=chosen.candidate.engine,
                        broker_epoch=chosen.candidate.broker_epoch,
                    )
                )
        if elections:
            elected = await carry_out(node, shard, pb.ElectLeaders(elections=elections))
            node.count(ELECTIONS.name, elected, reason="recovery")


async def balance_leaders(node: NodeApi, shard: ShardRef) -> None:
    """Give leadership back to preferred leaders, up to the limit of one round."""
    await move_leaders(node, node.config(StorageEngineConfig).balance_moves, shard)


async def move_leaders(
    node: NodeApi, most: int, shard: ShardRef | None = None, *, dry_run: bool = False
) -> list[asked.LeaderMove]:
    """Move up to `most` leaders, and return the moves; a dry run only returns them."""
    if not most:
        return []
    query = asked.FindDisplacedQuery(limit=most)
    moves = [found async for found in node.query(query, asked.LeaderMove)]
    if moves and not dry_run:
        command = pb.MoveLeaders(segments=[move.seen for move in moves])
        reply = await node.propose(command, BatchReply, if_leader=shard)
        refused = {refusal.item for refusal in reply.refusals}
        moves = [move for position, move in enumerate(moves) if position not in refused]
        node.count(ELECTIONS.name, len(moves), reason="balance")
    return moves


def election_holding(ask: AskLogEnd) -> Controller:
    """Return the controller that holds elections and asks engines through `ask`."""
    return Controller(
        name="storage_engine.election_holding",
        group=GROUP,
        run_once=partial(hold_elections, ask=ask),
        interval_s=lambda node: node.config(StorageEngineConfig).election_interval_s,
        wake_on=(BROKERS,),
    )


ELECTION_HOLDING: Final = election_holding(ask_over_grpc)

BALANCING: Final = Controller(
    name="storage_engine.leader_balancing",
    group=GROUP,
    run_once=balance_leaders,
    interval_s=lambda node: node.config(StorageEngineConfig).balance_interval_s,
)
