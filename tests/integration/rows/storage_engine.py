"""The rows of engine shards."""

from __future__ import annotations

from typing import Final

from quorate_storage_engine.v1.commands_pb2 import (
    AcknowledgeDropsCommand,
    CreateNextSegmentCommand,
    CreateNextSegmentsCommand,
    CreateShardCommand,
    CreateShardsCommand,
    DecommissionEnginesCommand,
    DeleteSegmentCommand,
    DeleteSegmentsCommand,
    DeleteShardCommand,
    DeleteShardsCommand,
    DroppedSegment,
    ForceLeaderCommand,
    ForceLeadersCommand,
    IsrMember,
    LeaderClaim,
    RecommissionEnginesCommand,
    RecordSegmentStartCommand,
    RecordSegmentStartsCommand,
    SealSegmentCommand,
    SealSegmentsCommand,
    UpdateSegmentIsrCommand,
    UpdateSegmentIsrsCommand,
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

from tests.integration.rows.row import MANY, STRANGE, TEXT, Row, by_method

CONFIG: Final = ShardConfig(replicas=3, min_in_sync_replicas=2, storage=STORAGE_TYPE_SEGMENT)
SHARD: Final = CreateShardCommand(name="s", config=CONFIG)
CLAIM: Final = LeaderClaim(engine="e", broker_epoch=1, leader_epoch=1)
NEXT: Final = CreateNextSegmentCommand(shard="s", claim=CLAIM)
SEAL: Final = SealSegmentCommand(shard="s", claim=CLAIM)
START: Final = RecordSegmentStartCommand(shard="s", claim=CLAIM)
DELETED: Final = DeleteSegmentCommand(shard="s")
MEMBER: Final = IsrMember(engine="e", broker_epoch=1)
ISR: Final = UpdateSegmentIsrCommand(shard="s", claim=CLAIM, segment_epoch=1, isr=[MEMBER])
FORCED: Final = ForceLeaderCommand(shard="s", engine="e", segment_epoch=1)


def shard(**config: object) -> CreateShardCommand:
    given = ShardConfig(**config)  # type: ignore[arg-type]  # by name
    given.MergeFrom(ShardConfig(storage=given.storage or STORAGE_TYPE_SEGMENT))
    return CreateShardCommand(name="s", config=given)


def isr(*members: IsrMember, segment_epoch: int = 1) -> UpdateSegmentIsrCommand:
    return UpdateSegmentIsrCommand(shard="s", claim=CLAIM, segment_epoch=segment_epoch, isr=members)


ENGINE: Final = {
    "CreateShard": Row(
        empty="name",
        large=(
            (CreateShardCommand(name=TEXT, config=CONFIG), "name"),
            (CreateShardCommand(name="s", tenant=TEXT, config=CONFIG), "tenant"),
            (CreateShardCommand(name="s", topic=TEXT, config=CONFIG), "topic"),
            (CreateShardCommand(name="s", description=TEXT, config=CONFIG), "description"),
            (shard(replicas=33, min_in_sync_replicas=1), "config.replicas"),
        ),
        wrong=(
            (CreateShardCommand(name=STRANGE, config=CONFIG), "name"),
            (CreateShardCommand(name="s"), "config.replicas"),
            (shard(replicas=2, min_in_sync_replicas=3), "config.min_in_sync_replicas"),
            (shard(replicas=2), "config.min_in_sync_replicas"),
            (shard(replicas=1, min_in_sync_replicas=1, storage=77), "config.storage"),
        ),
    ),
    "CreateShards": Row(
        # Nothing is to be made, and nothing is logged.
        empty=None,
        large=(
            (CreateShardsCommand(shards=[SHARD] * MANY), "shards"),
            (CreateShardsCommand(shards=[SHARD, CreateShardCommand(name=TEXT)]), "shards[1].name"),
        ),
        wrong=((CreateShardsCommand(shards=[SHARD, SHARD]), "shards[1]"),),
    ),
    "DeleteShard": Row(
        empty="name",
        large=((DeleteShardCommand(name=TEXT), "name"),),
        wrong=((DeleteShardCommand(name=STRANGE), "name"),),
    ),
    "DeleteShards": Row(
        empty=None,
        large=((DeleteShardsCommand(shards=[DeleteShardCommand(name="s")] * MANY), "shards"),),
        wrong=((DeleteShardsCommand(shards=[DeleteShardCommand()]), "shards[0].name"),),
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
        large=((CreateNextSegmentCommand(shard=TEXT, claim=CLAIM), "shard"),),
        wrong=(
            (CreateNextSegmentCommand(shard="s"), "claim.engine"),
            (
                CreateNextSegmentCommand(shard="s", claim=LeaderClaim(engine="e")),
                "claim.broker_epoch",
            ),
            (
                CreateNextSegmentCommand(shard="s", claim=LeaderClaim(engine="e", broker_epoch=1)),
                "claim.leader_epoch",
            ),
        ),
    ),
    "CreateNextSegments": Row(
        empty=None,
        large=((CreateNextSegmentsCommand(segments=[NEXT] * MANY), "segments"),),
        wrong=(
            (
                CreateNextSegmentsCommand(segments=[NEXT, CreateNextSegmentCommand()]),
                "segments[1].shard",
            ),
        ),
    ),
    "SealSegment": Row(
        empty="shard",
        large=((SealSegmentCommand(shard=TEXT, claim=CLAIM), "shard"),),
        wrong=((SealSegmentCommand(shard="s"), "claim.engine"),),
    ),
    "SealSegments": Row(
        empty=None,
        large=((SealSegmentsCommand(segments=[SEAL] * MANY), "segments"),),
        wrong=((SealSegmentsCommand(segments=[SealSegmentCommand()]), "segments[0].shard"),),
    ),
    "RecordSegmentStart": Row(
        empty="shard",
        large=((RecordSegmentStartCommand(shard=TEXT, claim=CLAIM), "shard"),),
        wrong=((RecordSegmentStartCommand(shard="s"), "claim.engine"),),
    ),
    "RecordSegmentStarts": Row(
        empty=None,
        large=((RecordSegmentStartsCommand(segments=[START] * MANY), "segments"),),
        wrong=(
            (
                RecordSegmentStartsCommand(segments=[RecordSegmentStartCommand()]),
                "segments[0].shard",
            ),
        ),
    ),
    "DeleteSegment": Row(
        empty="shard",
        large=((DeleteSegmentCommand(shard=TEXT), "shard"),),
        wrong=((DeleteSegmentCommand(shard=STRANGE), "shard"),),
    ),
    "DeleteSegments": Row(
        empty=None,
        large=((DeleteSegmentsCommand(segments=[DELETED] * MANY), "segments"),),
        wrong=((DeleteSegmentsCommand(segments=[DeleteSegmentCommand()]), "segments[0].shard"),),
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
            (UpdateSegmentIsrCommand(shard=TEXT), "shard"),
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
        large=((UpdateSegmentIsrsCommand(updates=[ISR] * MANY), "updates"),),
        wrong=((UpdateSegmentIsrsCommand(updates=[isr()]), "updates[0].isr"),),
    ),
    "ForceLeader": Row(
        empty="shard",
        large=((ForceLeaderCommand(shard="s", engine=TEXT, segment_epoch=1), "engine"),),
        wrong=((ForceLeaderCommand(shard="s", engine="e"), "segment_epoch"),),
    ),
    "ForceLeaders": Row(
        empty=None,
        large=((ForceLeadersCommand(elections=[FORCED] * MANY), "elections"),),
        wrong=((ForceLeadersCommand(elections=[ForceLeaderCommand()]), "elections[0].shard"),),
    ),
    "BalanceLeaders": Row(
        # There is nothing to be moved.
        empty=None,
        large=((BalanceLeadersRequest(most_moves=(1 << 32) - 1), None),),
    ),
    "DecommissionEngines": Row(
        empty=None,
        large=(
            (DecommissionEnginesCommand(engines=["e"] * MANY), "engines"),
            (DecommissionEnginesCommand(engines=[TEXT]), "engines[0]"),
        ),
        wrong=((DecommissionEnginesCommand(engines=["e", ""]), "engines[1]"),),
    ),
    "RecommissionEngines": Row(
        empty=None,
        large=(
            (RecommissionEnginesCommand(engines=["e"] * MANY), "engines"),
            (RecommissionEnginesCommand(engines=[TEXT]), "engines[0]"),
        ),
        wrong=((RecommissionEnginesCommand(engines=["e", ""]), "engines[1]"),),
    ),
    "ListEngines": Row(empty=None, large=((ListEnginesRequest(page_token=TEXT), "page_token"),)),
    "AcknowledgeDrops": Row(
        empty="engine",
        large=(
            (AcknowledgeDropsCommand(engine=TEXT, broker_epoch=1), "engine"),
            (
                AcknowledgeDropsCommand(
                    engine="e",
                    broker_epoch=1,
                    segments=[DroppedSegment(shard_uid=each) for each in range(MANY)],
                ),
                "segments",
            ),
        ),
        wrong=((AcknowledgeDropsCommand(engine="e"), "broker_epoch"),),
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
