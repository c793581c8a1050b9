"""The rows of engine shards."""

from __future__ import annotations

from typing import Final

from quorate_storage_engine.v1.commands_pb2 import (
    AcknowledgeDrops,
    CreateNextSegment,
    CreateNextSegments,
    CreateShard,
    CreateShards,
    DecommissionEngines,
    DeleteSegment,
    DeleteSegments,
    DeleteShard,
    DeleteShards,
    DroppedSegment,
    ForceLeader,
    ForceLeaders,
    IsrMember,
    LeaderClaim,
    RecommissionEngines,
    RecordSegmentStart,
    RecordSegmentStarts,
    SealSegment,
    SealSegments,
    UpdateSegmentIsr,
    UpdateSegmentIsrs,
)
from quorate_storage_engine.v1.queries_pb2 import SegmentId
from quorate_storage_engine.v1.rows_pb2 import STORAGE_TYPE_SEGMENT, Drop, ShardConfig
from quorate_storage_engine.v1.service_pb2 import (
    BalanceLeadersRequest,
    GetSegmentsRequest,
    GetShardRequest,
    ListDropsRequest,
    ListEnginesRequest,
    ListSegmentsRequest,
    ListShardsRequest,
)

from tests.integration.rows.row import MANY, STRANGE, TEXT, InPlace, Row, by_method

CONFIG: Final = ShardConfig(replicas=3, min_in_sync_replicas=2, storage=STORAGE_TYPE_SEGMENT)
SHARD: Final = CreateShard(name="s", config=CONFIG)
CLAIM: Final = LeaderClaim(engine="e", broker_epoch=1, leader_epoch=1)
NEXT: Final = CreateNextSegment(shard="s", claim=CLAIM)
SEAL: Final = SealSegment(shard="s", claim=CLAIM)
START: Final = RecordSegmentStart(shard="s", claim=CLAIM)
DELETED: Final = DeleteSegment(shard="s")
MEMBER: Final = IsrMember(engine="e", broker_epoch=1)
ISR: Final = UpdateSegmentIsr(shard="s", claim=CLAIM, segment_epoch=1, isr=[MEMBER])
FORCED: Final = ForceLeader(shard="s", engine="e", segment_epoch=1)


def shard(**config: object) -> CreateShard:
    given = ShardConfig(**config)  # type: ignore[arg-type]  # by name
    given.MergeFrom(ShardConfig(storage=given.storage or STORAGE_TYPE_SEGMENT))
    return CreateShard(name="s", config=given)


def isr(*members: IsrMember, segment_epoch: int = 1) -> UpdateSegmentIsr:
    return UpdateSegmentIsr(shard="s", claim=CLAIM, segment_epoch=segment_epoch, isr=members)


ENGINE: Final = {
    "CreateShard": Row(
        empty="name",
        large=(
            (CreateShard(name=TEXT, config=CONFIG), "name"),
            (CreateShard(name="s", tenant=TEXT, config=CONFIG), "tenant"),
            (CreateShard(name="s", topic=TEXT, config=CONFIG), "topic"),
            (CreateShard(name="s", description=TEXT, config=CONFIG), "description"),
            (shard(replicas=33, min_in_sync_replicas=1), "config.replicas"),
        ),
        wrong=(
            (CreateShard(name=STRANGE, config=CONFIG), "name"),
            (CreateShard(name="s"), "config.replicas"),
            (shard(replicas=2, min_in_sync_replicas=3), "config.min_in_sync_replicas"),
            (shard(replicas=2), "config.min_in_sync_replicas"),
            (shard(replicas=1, min_in_sync_replicas=1, storage=77), "config.storage"),
        ),
    ),
    "CreateShards": Row(
        # Nothing is to be made, and nothing is logged.
        empty=None,
        large=(
            (CreateShards(shards=[SHARD] * MANY), "shards"),
            (CreateShards(shards=[CreateShard(name=TEXT)] * 2), InPlace("shards[0].name")),
        ),
    ),
    "DeleteShard": Row(
        empty="name",
        large=((DeleteShard(name=TEXT), "name"),),
        wrong=((DeleteShard(name=STRANGE), "name"),),
    ),
    "DeleteShards": Row(
        empty=None,
        large=((DeleteShards(shards=[DeleteShard(name="s")] * MANY), "shards"),),
        wrong=((DeleteShards(shards=[DeleteShard()]), "shards[0].name"),),
    ),
    "GetShard": Row(
        empty="name",
        large=((GetShardRequest(name=TEXT), "name"),),
        wrong=((GetShardRequest(name=STRANGE), "name"),),
    ),
    "ListShards": Row(
        empty=None,
        large=(
            (ListShardsRequest(name_prefix=TEXT), "name_prefix"),
            (ListShardsRequest(tenant=TEXT), "tenant"),
            (ListShardsRequest(page_token=TEXT), "page_token"),
            # There is no page of so many.
            (ListShardsRequest(page_size=1_001), None),
        ),
        wrong=((ListShardsRequest(topic=STRANGE), "topic"),),
    ),
    "CreateNextSegment": Row(
        empty="shard",
        large=((CreateNextSegment(shard=TEXT, claim=CLAIM), "shard"),),
        wrong=(
            (CreateNextSegment(shard="s"), "claim.engine"),
            (
                CreateNextSegment(shard="s", claim=LeaderClaim(engine="e")),
                "claim.broker_epoch",
            ),
            (
                CreateNextSegment(shard="s", claim=LeaderClaim(engine="e", broker_epoch=1)),
                "claim.leader_epoch",
            ),
        ),
    ),
    "CreateNextSegments": Row(
        empty=None,
        large=((CreateNextSegments(segments=[NEXT] * MANY), "segments"),),
        wrong=(
            (
                CreateNextSegments(segments=[CreateNextSegment()] * 2),
                InPlace("segments[0].shard"),
            ),
        ),
    ),
    "SealSegment": Row(
        empty="shard",
        large=((SealSegment(shard=TEXT, claim=CLAIM), "shard"),),
        wrong=((SealSegment(shard="s"), "claim.engine"),),
    ),
    "SealSegments": Row(
        empty=None,
        large=((SealSegments(segments=[SEAL] * MANY), "segments"),),
        wrong=((SealSegments(segments=[SealSegment()]), "segments[0].shard"),),
    ),
    "RecordSegmentStart": Row(
        empty="shard",
        large=((RecordSegmentStart(shard=TEXT, claim=CLAIM), "shard"),),
        wrong=((RecordSegmentStart(shard="s"), "claim.engine"),),
    ),
    "RecordSegmentStarts": Row(
        empty=None,
        large=((RecordSegmentStarts(segments=[START] * MANY), "segments"),),
        wrong=(
            (
                RecordSegmentStarts(segments=[RecordSegmentStart()]),
                "segments[0].shard",
            ),
        ),
    ),
    "DeleteSegment": Row(
        empty="shard",
        large=((DeleteSegment(shard=TEXT), "shard"),),
        wrong=((DeleteSegment(shard=STRANGE), "shard"),),
    ),
    "DeleteSegments": Row(
        empty=None,
        large=((DeleteSegments(segments=[DELETED] * MANY), "segments"),),
        wrong=((DeleteSegments(segments=[DeleteSegment()]), "segments[0].shard"),),
    ),
    "GetSegments": Row(
        empty=None,
        large=(
            (GetSegmentsRequest(segments=[SegmentId(shard="s")] * 1_001), "segments"),
            (GetSegmentsRequest(segments=[SegmentId(shard=TEXT)]), "segments[0].shard"),
        ),
        wrong=((GetSegmentsRequest(segments=[SegmentId()]), "segments[0].shard"),),
    ),
    "ListSegments": Row(
        empty=None,
        large=(
            (ListSegmentsRequest(shard=TEXT), "shard"),
            (ListSegmentsRequest(engine=TEXT), "engine"),
            (ListSegmentsRequest(page_token=SegmentId(shard=TEXT)), "page_token.shard"),
        ),
        wrong=((ListSegmentsRequest(shard=STRANGE), "shard"),),
    ),
    "UpdateSegmentIsr": Row(
        empty="shard",
        large=(
            (UpdateSegmentIsr(shard=TEXT), "shard"),
            (isr(*(IsrMember(engine=f"e{each}") for each in range(33))), "isr"),
            (isr(IsrMember(engine=TEXT)), "isr[0].engine"),
        ),
        wrong=(
            (isr(MEMBER, segment_epoch=0), "segment_epoch"),
            (isr(), "isr"),
            (isr(MEMBER, MEMBER), "isr"),
        ),
    ),
    "UpdateSegmentIsrs": Row(
        empty=None,
        large=((UpdateSegmentIsrs(updates=[ISR] * MANY), "updates"),),
        wrong=((UpdateSegmentIsrs(updates=[isr()]), "updates[0].isr"),),
    ),
    "ForceLeader": Row(
        empty="shard",
        large=((ForceLeader(shard="s", engine=TEXT, segment_epoch=1), "engine"),),
        wrong=((ForceLeader(shard="s", engine="e"), "segment_epoch"),),
    ),
    "ForceLeaders": Row(
        empty=None,
        large=((ForceLeaders(elections=[FORCED] * MANY), "elections"),),
        wrong=((ForceLeaders(elections=[ForceLeader()]), "elections[0].shard"),),
    ),
    "BalanceLeaders": Row(
        # There is nothing to be moved.
        empty=None,
        large=((BalanceLeadersRequest(most_moves=(1 << 32) - 1), None),),
    ),
    "DecommissionEngines": Row(
        empty=None,
        large=(
            (DecommissionEngines(engines=["e"] * MANY), "engines"),
            (DecommissionEngines(engines=[TEXT]), "engines[0]"),
        ),
        wrong=((DecommissionEngines(engines=["", ""]), InPlace("engines[0]")),),
    ),
    "RecommissionEngines": Row(
        empty=None,
        large=(
            (RecommissionEngines(engines=["e"] * MANY), "engines"),
            (RecommissionEngines(engines=[TEXT]), "engines[0]"),
        ),
        wrong=((RecommissionEngines(engines=["", ""]), InPlace("engines[0]")),),
    ),
    "ListEngines": Row(empty=None, large=((ListEnginesRequest(page_token=TEXT), "page_token"),)),
    "AcknowledgeDrops": Row(
        empty="engine",
        large=(
            (AcknowledgeDrops(engine=TEXT, broker_epoch=1), "engine"),
            (
                AcknowledgeDrops(
                    engine="e",
                    broker_epoch=1,
                    segments=[DroppedSegment(shard_uid=each) for each in range(MANY)],
                ),
                "segments",
            ),
        ),
        wrong=((AcknowledgeDrops(engine="e"), "broker_epoch"),),
    ),
    "ListDrops": Row(
        empty=None,
        large=(
            (ListDropsRequest(engine=TEXT), "engine"),
            (ListDropsRequest(page_token=Drop(engine=TEXT)), "page_token.engine"),
        ),
        wrong=((ListDropsRequest(engine=STRANGE), "engine"),),
    ),
}

ROWS: Final = by_method({"quorate_storage_engine.v1.EngineService": ENGINE})
