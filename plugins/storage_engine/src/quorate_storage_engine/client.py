"""Engine shards for Python programs: `Engines(q)` over an `AsyncClient`, and its twin."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any, Final

from google.protobuf.message import Message
from quorate.client import (
    AsyncClient,
    Blocking,
    ChangeKind,
    Client,
    Records,
    RejectedError,
    blocking,
    iterating,
)
from quorate.client.errors import or_none
from quorate.plugin import keys
from quorate.plugin.batches import in_parts
from quorate.v1.batch_pb2 import BatchReply

from quorate_storage_engine.families import DROPS
from quorate_storage_engine.resources import SHARD
from quorate_storage_engine.v1 import (
    commands_pb2 as pb,
    queries_pb2 as asked,
    rows_pb2 as rows,
    service_pb2 as requests,
)
from quorate_storage_engine.validation import MOST_CREATED

#: Maximum number of items in one command or one page.
_MOST: Final = 1_000
_GIVEN: Final = {ChangeKind.ROW, ChangeKind.PUT, ChangeKind.CREATED, ChangeKind.UPDATED}


def claim_of(segment: rows.Segment) -> pb.LeaderClaim:
    """Return the claim with which the leader that a row names asks for changes."""
    return pb.LeaderClaim(
        engine=segment.leader,
        broker_epoch=segment.leader_broker_epoch,
        leader_epoch=segment.leader_epoch,
    )


class Engines:
    """Engine shards, their segments, and the engines that hold them.

    A list takes the request of the service with its filters, and yields the rows of all pages. The
    reply to many items names those that were refused by their positions.
    """

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self._shards: Final[Records[rows.Shard]] = q.records(SHARD)

    async def create_shard(self, command: pb.CreateShard) -> pb.ShardState:
        """Create a shard with its first segment, or return the existing shard."""
        return await self._q.execute(command, pb.ShardState)

    async def create_shards(self, commands: Iterable[pb.CreateShard]) -> BatchReply:
        """Create many shards; each is answered with ShardState."""
        return await self._q.execute_all(
            [pb.CreateShards(shards=part) for part in in_parts(commands, MOST_CREATED)]
        )

    async def delete_shard(self, name: str, *, missing_ok: bool = False) -> rows.Shard:
        """Mark a shard for deletion; it is removed once every engine has dropped its segments.

        SHARD_NOT_FOUND if there is none; with `missing_ok` an empty one is returned.
        """
        command = pb.DeleteShard(name=name, missing_ok=missing_ok)
        return await self._q.execute(command, rows.Shard)

    async def delete_shards(self, names: Iterable[str], *, missing_ok: bool = False) -> BatchReply:
        """Mark many shards for deletion; each is answered with Shard."""
        commands = (pb.DeleteShard(name=name, missing_ok=missing_ok) for name in names)
        return await self._q.execute_all(
            [pb.DeleteShards(shards=part) for part in in_parts(commands, _MOST)]
        )

    async def shard(self, name: str, *, stale: bool = False) -> pb.ShardState | None:
        """Return a shard with its active segment; None if no shard has that name."""
        request = requests.GetShardRequest(name=name, stale=stale)
        asking = self._shards.ask("GetShard", request, pb.ShardState)
        return await or_none(asking, "SHARD_NOT_FOUND")

    def shards(self, request: requests.ListShardsRequest) -> AsyncGenerator[rows.Shard, None]:
        """Yield the shards that fit, by name."""
        return self._list("shards", request, requests.ListShardsResponse)

    async def create_next_segment(self, command: pb.CreateNextSegment) -> pb.ShardState:
        """Seal the active segment if it is not sealed yet, and begin the next one."""
        return await self._q.execute(command, pb.ShardState)

    async def seal_segment(self, command: pb.SealSegment) -> rows.Segment:
        """Seal a segment that is being written to."""
        return await self._q.execute(command, rows.Segment)

    async def record_segment_start(self, command: pb.RecordSegmentStart) -> rows.Segment:
        """Record the time of a segment's first record."""
        return await self._q.execute(command, rows.Segment)

    async def delete_segment(
        self, shard: str, segment: int, *, missing_ok: bool = False
    ) -> rows.Segment:
        """Begin to remove a sealed segment that another one follows.

        SEGMENT_NOT_FOUND if there is none; with `missing_ok` an empty one is returned.
        """
        command = pb.DeleteSegment(shard=shard, segment=segment, missing_ok=missing_ok)
        return await self._q.execute(command, rows.Segment)

    async def get_segments(
        self, segments: Sequence[asked.SegmentId], *, stale: bool = False
    ) -> Sequence[rows.Segment]:
        """Return the existing segments among up to 1,000, in the order of the request."""
        request = requests.GetSegmentsRequest(segments=segments, stale=stale)
        return (
            await self._shards.ask("GetSegments", request, requests.GetSegmentsResponse)
        ).segments

    def segments(self, request: requests.ListSegmentsRequest) -> AsyncGenerator[rows.Segment, None]:
        """Yield the segments that fit, by shard and number."""
        return self._list("segments", request, requests.ListSegmentsResponse)

    async def update_isr(self, command: pb.UpdateSegmentIsr) -> rows.Segment:
        """Replace the in-sync replicas of a segment, as its leader."""
        return await self._q.execute(command, rows.Segment)

    async def update_isrs(self, commands: Iterable[pb.UpdateSegmentIsr]) -> BatchReply:
        """Replace the in-sync replicas of many segments; each is answered with Segment."""
        return await self._q.execute_all(
            [pb.UpdateSegmentIsrs(updates=part) for part in in_parts(commands, _MOST)]
        )

    async def force_leader(
        self, shard: str, segment: int, engine: str, *, epoch: int
    ) -> rows.Segment:
        """Make a replica lead an unavailable segment; the records that it lacks are lost.

        `epoch` is the segment epoch of the row on which the decision is based.
        """
        command = pb.ForceLeader(shard=shard, segment=segment, engine=engine, segment_epoch=epoch)
        return await self._q.execute(command, rows.Segment)

    async def balance_leaders(
        self, *, most_moves: int = 0, dry_run: bool = False
    ) -> Sequence[asked.LeaderMove]:
        """Give leadership back to preferred leaders, and return the moves.

        Without `most_moves` the limit of one round of the node applies; with `dry_run` no leader
        is moved.
        """
        request = requests.BalanceLeadersRequest(most_moves=most_moves, dry_run=dry_run)
        return (
            await self._shards.ask(
                "BalanceLeaders", request, requests.BalanceLeadersResponse, read=False
            )
        ).moves

    async def decommission(self, engines: Iterable[str]) -> Sequence[rows.Engine]:
        """Move the replicas of engines to other engines, and return the engines with their load.

        Raises the first refusal; the engines that were not refused are decommissioned all the same.
        """
        return await self._marked(pb.DecommissionEngines(engines=engines))

    async def recommission(self, engines: Iterable[str]) -> Sequence[rows.Engine]:
        """Let decommissioned engines accept replicas again; refusals as for `decommission`."""
        return await self._marked(pb.RecommissionEngines(engines=engines))

    def engines(self, *, stale: bool = False) -> AsyncGenerator[asked.EngineState, None]:
        """Yield the engines that are registered or hold replicas, by name."""
        request = requests.ListEnginesRequest(page_size=_MOST, stale=stale)
        return self._list("engines", request, requests.ListEnginesResponse)

    def drops(self, request: requests.ListDropsRequest) -> AsyncGenerator[rows.Drop, None]:
        """Yield the drops requested of engines."""
        return self._list("drops", request, requests.ListDropsResponse)

    async def asked_drops(self, engine: str) -> AsyncGenerator[rows.Drop, None]:
        """Yield the pending and all future drops of an engine; a drop may come twice."""
        start, _ = keys.prefix(engine)
        async for change in self._q.watch(DROPS, prefix=start):
            if change.kind in _GIVEN:
                yield rows.Drop.FromString(change.value)

    async def acknowledge_drops(
        self, engine: str, broker_epoch: int, drops: Iterable[rows.Drop]
    ) -> BatchReply:
        """Acknowledge that an engine has deleted its replicas of segments."""
        segments = (
            pb.DroppedSegment(
                shard_uid=drop.shard_uid, segment=drop.segment, segment_epoch=drop.segment_epoch
            )
            for drop in drops
        )
        return await self._q.execute_all(
            [
                pb.AcknowledgeDrops(engine=engine, broker_epoch=broker_epoch, segments=part)
                for part in in_parts(segments, _MOST)
            ]
        )

    async def _marked(
        self, command: pb.DecommissionEngines | pb.RecommissionEngines
    ) -> Sequence[rows.Engine]:
        reply = await self._q.execute(command, BatchReply)
        for refusal in reply.refusals:
            raise RejectedError(refusal.code, refusal.message)
        return [rows.Engine.FromString(each) for each in reply.replies]

    async def _list(
        self, what: str, request: Message, response: type[Message]
    ) -> AsyncGenerator[Any, None]:
        """Yield the rows of all pages."""
        wanted = {field.name: value for field, value in request.ListFields()}
        while True:
            page: Any = await self._shards.ask(
                f"List{what.title()}", type(request)(**wanted), response
            )
            for row in getattr(page, what):
                yield row
            if not any(field.name == "next_page_token" for field, _ in page.ListFields()):
                return
            wanted["page_token"] = page.next_page_token


class SyncEngines(Blocking[Engines]):
    """The same over a `Client`, without `await`."""

    def __init__(self, q: Client) -> None:
        super().__init__(q.thread, Engines(q.asynchronous))

    create_shard = blocking(Engines.create_shard)
    create_shards = blocking(Engines.create_shards)
    delete_shard = blocking(Engines.delete_shard)
    delete_shards = blocking(Engines.delete_shards)
    shard = blocking(Engines.shard)
    shards = iterating(Engines.shards)
    create_next_segment = blocking(Engines.create_next_segment)
    seal_segment = blocking(Engines.seal_segment)
    record_segment_start = blocking(Engines.record_segment_start)
    delete_segment = blocking(Engines.delete_segment)
    get_segments = blocking(Engines.get_segments)
    segments = iterating(Engines.segments)
    update_isr = blocking(Engines.update_isr)
    update_isrs = blocking(Engines.update_isrs)
    force_leader = blocking(Engines.force_leader)
    balance_leaders = blocking(Engines.balance_leaders)
    decommission = blocking(Engines.decommission)
    recommission = blocking(Engines.recommission)
    engines = iterating(Engines.engines)
    drops = iterating(Engines.drops)
    asked_drops = iterating(Engines.asked_drops)
    acknowledge_drops = blocking(Engines.acknowledge_drops)
