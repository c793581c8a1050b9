"""Engine shards for Python programs: `Engines(q)` over an `AsyncClient`, and its twin."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.client import (
    AsyncClient,
    Blocking,
    ChangeKind,
    Client,
    RejectedError,
    blocking,
    iterating,
)
from quorate.plugin import CONSTANT_KEY, keys
from quorate.v1.batch_pb2 import BatchReply

from quorate_storage_engine.families import DROPS, GROUP
from quorate_storage_engine.v1.commands_pb2 import (
    AcknowledgeDrops,
    CreateNextSegment,
    CreateShard,
    CreateShards,
    DecommissionEngines,
    DeleteSegment,
    DeleteShard,
    DeleteShards,
    DroppedSegment,
    ForceLeader,
    LeaderClaim,
    RecommissionEngines,
    RecordSegmentStart,
    SealSegment,
    ShardState,
    UpdateSegmentIsr,
    UpdateSegmentIsrs,
)
from quorate_storage_engine.v1.queries_pb2 import EngineState, LeaderMove, SegmentId
from quorate_storage_engine.v1.rows_pb2 import Drop, Engine, Segment, Shard
from quorate_storage_engine.v1.service_pb2 import (
    BalanceLeadersRequest,
    BalanceLeadersResponse,
    GetSegmentsRequest,
    GetSegmentsResponse,
    GetShardRequest,
    ListDropsRequest,
    ListDropsResponse,
    ListEnginesRequest,
    ListEnginesResponse,
    ListSegmentsRequest,
    ListSegmentsResponse,
    ListShardsRequest,
    ListShardsResponse,
)
from quorate_storage_engine.validation import MOST_CREATED

_SERVICE: Final = "/quorate_storage_engine.v1.EngineService/"
#: The most that one command or one page holds.
_MOST: Final = 1_000
_GIVEN: Final = {ChangeKind.ROW, ChangeKind.PUT, ChangeKind.CREATED, ChangeKind.UPDATED}

R = TypeVar("R", bound=Message)
T = TypeVar("T")


def claim_of(segment: Segment) -> LeaderClaim:
    """Return the claim with which the leader that a row names asks for changes."""
    return LeaderClaim(
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

    async def create_shard(self, command: CreateShard) -> ShardState:
        """Create a shard with its first segment, or return the one that is there."""
        return await self._q.execute(command, ShardState)

    async def create_shards(self, commands: Iterable[CreateShard]) -> BatchReply:
        """Create many shards; each is answered with ShardState."""
        return await self._q.execute_all(
            [CreateShards(shards=part) for part in _parts(commands, MOST_CREATED)]
        )

    async def delete_shard(self, name: str, *, missing_ok: bool = False) -> Shard:
        """Mark a shard for deletion; it goes when every engine has dropped its segments.

        SHARD_NOT_FOUND if there is none; with `missing_ok` an empty one is returned.
        """
        command = DeleteShard(name=name, missing_ok=missing_ok)
        return await self._q.execute(command, Shard)

    async def delete_shards(self, names: Iterable[str], *, missing_ok: bool = False) -> BatchReply:
        """Mark many shards for deletion; each is answered with Shard."""
        commands = (DeleteShard(name=name, missing_ok=missing_ok) for name in names)
        return await self._q.execute_all([DeleteShards(shards=part) for part in _parts(commands)])

    async def shard(self, name: str, *, stale: bool = False) -> ShardState | None:
        """Return a shard with its active segment; None when there is none of that name."""
        request = GetShardRequest(name=name, stale=stale)
        try:
            return await self._read("GetShard", request, ShardState)
        except RejectedError as error:
            if error.code == "SHARD_NOT_FOUND":
                return None
            raise

    async def shards(self, request: ListShardsRequest) -> AsyncGenerator[Shard, None]:
        """Yield the shards that fit, by name."""
        wanted = _copy(request)
        while True:
            page = await self._read("ListShards", wanted, ListShardsResponse)
            for shard in page.shards:
                yield shard
            if not page.next_page_token:
                return
            wanted.page_token = page.next_page_token

    async def create_next_segment(self, command: CreateNextSegment) -> ShardState:
        """Seal the active segment if it is not sealed yet, and begin the next one."""
        return await self._q.execute(command, ShardState)

    async def seal_segment(self, command: SealSegment) -> Segment:
        """End a segment that is written to."""
        return await self._q.execute(command, Segment)

    async def record_segment_start(self, command: RecordSegmentStart) -> Segment:
        """Record the time of a segment's first record."""
        return await self._q.execute(command, Segment)

    async def delete_segment(
        self, shard: str, segment: int, *, missing_ok: bool = False
    ) -> Segment:
        """Begin to remove a sealed segment that another one follows.

        SEGMENT_NOT_FOUND if there is none; with `missing_ok` an empty one is returned.
        """
        command = DeleteSegment(shard=shard, segment=segment, missing_ok=missing_ok)
        return await self._q.execute(command, Segment)

    async def get_segments(
        self, segments: Sequence[SegmentId], *, stale: bool = False
    ) -> Sequence[Segment]:
        """Return those of up to 1,000 segments that are there, in their order."""
        request = GetSegmentsRequest(segments=segments, stale=stale)
        return (await self._read("GetSegments", request, GetSegmentsResponse)).segments

    async def segments(self, request: ListSegmentsRequest) -> AsyncGenerator[Segment, None]:
        """Yield the segments that fit, by shard and number."""
        wanted = _copy(request)
        while True:
            page = await self._read("ListSegments", wanted, ListSegmentsResponse)
            for segment in page.segments:
                yield segment
            if not page.HasField("next_page_token"):
                return
            wanted.page_token.CopyFrom(page.next_page_token)

    async def update_isr(self, command: UpdateSegmentIsr) -> Segment:
        """Replace the in-sync replicas of a segment, as its leader."""
        return await self._q.execute(command, Segment)

    async def update_isrs(self, commands: Iterable[UpdateSegmentIsr]) -> BatchReply:
        """Replace the in-sync replicas of many segments; each is answered with Segment."""
        return await self._q.execute_all(
            [UpdateSegmentIsrs(updates=part) for part in _parts(commands)]
        )

    async def force_leader(self, shard: str, segment: int, engine: str, *, epoch: int) -> Segment:
        """Make a replica lead an unavailable segment, and lose what it lacks.

        `epoch` is the segment epoch of the row from which this was concluded.
        """
        command = ForceLeader(shard=shard, segment=segment, engine=engine, segment_epoch=epoch)
        return await self._q.execute(command, Segment)

    async def balance_leaders(
        self, *, most_moves: int = 0, dry_run: bool = False
    ) -> Sequence[LeaderMove]:
        """Give leadership back to preferred leaders, and return the moves.

        Without `most_moves` as many as in a round of the node; with `dry_run` nobody is moved.
        """
        request = BalanceLeadersRequest(most_moves=most_moves, dry_run=dry_run)
        return (await self._call("BalanceLeaders", request, BalanceLeadersResponse)).moves

    async def decommission(self, engines: Iterable[str]) -> Sequence[Engine]:
        """Have the replicas of engines moved to others, and return what they carry at present.

        Raises the first refusal; the engines that were not refused are decommissioned all the same.
        """
        return await self._marked(DecommissionEngines(engines=engines))

    async def recommission(self, engines: Iterable[str]) -> Sequence[Engine]:
        """Let decommissioned engines take replicas on again; refusals as for `decommission`."""
        return await self._marked(RecommissionEngines(engines=engines))

    async def engines(self, *, stale: bool = False) -> AsyncGenerator[EngineState, None]:
        """Yield the engines that are registered or carry something, by name."""
        request = ListEnginesRequest(page_size=_MOST, stale=stale)
        while True:
            page = await self._read("ListEngines", request, ListEnginesResponse)
            for engine in page.engines:
                yield engine
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def drops(self, request: ListDropsRequest) -> AsyncGenerator[Drop, None]:
        """Yield what engines are asked to drop."""
        wanted = _copy(request)
        while True:
            page = await self._read("ListDrops", wanted, ListDropsResponse)
            for drop in page.drops:
                yield drop
            if not page.HasField("next_page_token"):
                return
            wanted.page_token.CopyFrom(page.next_page_token)

    async def asked_drops(self, engine: str) -> AsyncGenerator[Drop, None]:
        """Yield what an engine is asked to drop, now and from now on; one may come twice."""
        start, _ = keys.prefix(engine)
        async for change in self._q.watch(DROPS, prefix=start):
            if change.kind in _GIVEN:
                yield Drop.FromString(change.value)

    async def acknowledge_drops(
        self, engine: str, broker_epoch: int, drops: Iterable[Drop]
    ) -> BatchReply:
        """Say that an engine has deleted its replicas of segments."""
        segments = (
            DroppedSegment(
                shard_uid=drop.shard_uid, segment=drop.segment, segment_epoch=drop.segment_epoch
            )
            for drop in drops
        )
        return await self._q.execute_all(
            [
                AcknowledgeDrops(engine=engine, broker_epoch=broker_epoch, segments=part)
                for part in _parts(segments)
            ]
        )

    async def _marked(self, command: DecommissionEngines | RecommissionEngines) -> Sequence[Engine]:
        reply = await self._q.execute(command, BatchReply)
        for refusal in reply.refusals:
            raise RejectedError(refusal.code, refusal.message)
        return [Engine.FromString(each) for each in reply.replies]

    async def _read(self, method: str, request: Message, response: type[R]) -> R:
        return await self._call(method, request, response, read=True)

    async def _call(
        self, method: str, request: Message, response: type[R], *, read: bool = False
    ) -> R:
        return await self._q.call(
            f"{_SERVICE}{method}",
            request,
            response,
            group=GROUP,
            shard_key=CONSTANT_KEY,
            read=read,
        )


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


def _parts(items: Iterable[T], most: int = _MOST) -> Iterator[list[T]]:
    rest = iter(items)
    while part := list(islice(rest, most)):
        yield part


def _copy(request: R) -> R:
    same = type(request)()
    same.CopyFrom(request)
    return same
