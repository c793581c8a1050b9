"""The resources of the plugin: shards, segments, engines and drops, with their verbs."""

from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from google.protobuf.message import Message
from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import Access, Checks, Item, Query, Resource, Serving, Storage, Verb, View, keys
from quorate.plugin.advanced import constant_key
from quorate.plugin.resource import TENANTS

from quorate_storage_engine import validation
from quorate_storage_engine.engines import apply as engines, queries as engine_queries
from quorate_storage_engine.engines.fleet import with_fleet
from quorate_storage_engine.families import (
    DROPS,
    ENGINES,
    GROUP,
    SEGMENTS,
    SHARDS,
    drop_key,
    segment_key,
)
from quorate_storage_engine.leadership import apply as leadership, queries as leader_queries
from quorate_storage_engine.removal import apply as removal, queries as removal_queries
from quorate_storage_engine.segments import apply as segments, rows as segment_queries
from quorate_storage_engine.service import EngineReads
from quorate_storage_engine.shards import apply as shards
from quorate_storage_engine.v1 import (
    commands_pb2 as pb,
    queries_pb2 as asked,
    rows_pb2 as rows,
    service_pb2,
)

_SERVICE: Final = service_pb2.DESCRIPTOR.services_by_name["EngineService"]
# The subjects of the examples: a shard of three replicas, and its first segment.
_CONFIG: Final = rows.ShardConfig(
    replicas=3,
    min_in_sync_replicas=2,
    storage=rows.STORAGE_TYPE_SEGMENT,
    max_segment_bytes=1 << 30,
    retention_s=604_800,
)
_SHARD: Final[dict[str, Any]] = {"tenant": "acme", "topic": "orders", "config": _CONFIG}
_FIRST: Final[dict[str, Any]] = {"shard": "orders-0", "segment": 0}
_CLAIM: Final = pb.LeaderClaim(engine="engine-1", broker_epoch=1, leader_epoch=1)
_SEEN: Final = pb.SeenSegment(**_FIRST, segment_epoch=1)
_END: Final[dict[str, Any]] = {"end_offset": 40, "end_timestamp_ms": 9, "claim": _CLAIM}


def _key(item: Any) -> bytes:
    return segment_key(item.shard, item.segment)


def _seen_key(item: Any) -> bytes:
    return segment_key(item.seen.shard, item.seen.segment)


def _of_segments(
    field: str,
    apply: Any,
    check: Any,
    example: Any,
    *,
    key: Callable[[Any], bytes] = _key,
    message: type[Message] | None = None,
) -> Verb:
    """Return a verb with items that name segments; its handler gets one fleet per command."""
    return Verb(
        apply_all=with_fleet(field, apply),
        check=Checks(
            command=validation.each(field, check) if check is not None else lambda _: None
        ),
        examples=(example,),
        reads=(BROKERS,),
        item=Item(key=key),
        message=message,
    )


SHARD: Final = Resource(
    family=SHARDS,
    row=rows.Shard,
    service=_SERVICE,
    serving=Serving(
        methods=(
            "CreateShard",
            "CreateShards",
            "DeleteShard",
            "DeleteShards",
            "GetShard",
            "ListShards",
        ),
        servicer=EngineReads,
        access={
            "GetShard": Access(right="read", domain=SHARDS, key="name"),
            "ListShards": Access(right="read", domain=SHARDS, key="name_prefix"),
        },
    ),
    key=("name",),
    view=View(noun="engine shard", cli=False),
    storage=Storage(counted=True),
    verbs={
        "Create": Verb(
            apply_all=with_fleet("shards", shards.create),
            check=Checks(
                command=validation.each(
                    "shards", validation.check_create_shard, validation.MOST_CREATED
                )
            ),
            reads=(BROKERS, TENANTS),
            examples=(
                pb.CreateShard(name="orders-0", description="Orders.", **_SHARD),
                pb.CreateShard(name="orders-1", **_SHARD),
            ),
        ),
        "Delete": Verb(
            apply=shards.delete,
            check=Checks(command=validation.each("shards", validation.check_delete_shard)),
            examples=(pb.DeleteShard(name="orders-1"),),
        ),
    },
)

_SEGMENT_VERBS: Final = (
    "CreateNextSegment",
    "SealSegment",
    "RecordSegmentStart",
    "DeleteSegment",
    "UpdateSegmentIsr",
    "ForceLeader",
)

SEGMENT: Final = Resource(
    family=SEGMENTS,
    row=rows.Segment,
    service=_SERVICE,
    serving=Serving(
        methods=(
            *(f"{verb}{plural}" for verb in _SEGMENT_VERBS for plural in ("", "s")),
            "GetSegments",
            "ListSegments",
            "BalanceLeaders",
        ),
        servicer=EngineReads,
        access={
            "GetSegments": Access(right="read", domain=SEGMENTS, items="segments", key="shard"),
            "ListSegments": Access(right="read", domain=SEGMENTS, key="shard"),
            "BalanceLeaders": Access(right="write", domain=SEGMENTS),
        },
    ),
    key=("shard", "number"),
    storage=Storage(counted=True),
    view=View(cli=False),
    verbs={
        "CreateNext": _of_segments(
            "segments",
            segments.create_next,
            validation.check_claimed,
            pb.CreateNextSegment(shard="orders-0", current_segment=0, **_END),
            key=lambda item: segment_key(item.shard, item.current_segment),
        ),
        "Seal": _of_segments(
            "segments", segments.seal, validation.check_claimed, pb.SealSegment(**_FIRST, **_END)
        ),
        "RecordSegmentStart": _of_segments(
            "segments",
            segments.record_start,
            validation.check_claimed,
            pb.RecordSegmentStart(**_FIRST, start_timestamp_ms=5, claim=_CLAIM),
        ),
        "UpdateSegmentIsr": _of_segments(
            "updates",
            segments.update_isr,
            validation.check_update_segment_isr,
            pb.UpdateSegmentIsr(
                **_FIRST,
                claim=_CLAIM,
                segment_epoch=1,
                isr=[pb.IsrMember(engine="engine-1", broker_epoch=1)],
            ),
        ),
        "Delete": _of_segments(
            "segments", segments.delete, validation.check_shard, pb.DeleteSegment(**_FIRST)
        ),
        "ForceLeader": _of_segments(
            "elections",
            leadership.force,
            validation.check_force_leader,
            pb.ForceLeader(**_FIRST, engine="engine-1", segment_epoch=1),
        ),
        # Proposed by controllers.
        **{
            message.__name__: _of_segments("segments", apply, None, _SEEN, message=message)
            for message, apply in (
                (pb.SwitchLeaders, leadership.switch),
                (pb.MoveLeaders, leadership.move),
                (pb.FillReplicas, engines.fill),
                (pb.RemoveSegments, removal.remove),
                (pb.FinishRemovals, removal.finish),
            )
        },
        "ElectLeaders": _of_segments(
            "elections",
            leadership.elect,
            None,
            pb.Election(seen=_SEEN, engine="engine-1", broker_epoch=1),
            message=pb.ElectLeaders,
            key=_seen_key,
        ),
        "MoveReplicas": _of_segments(
            "departures",
            engines.move,
            None,
            pb.Departure(seen=_SEEN, engine="engine-1"),
            message=pb.MoveReplicas,
            key=lambda item: keys.pack(item.engine, item.seen.shard, item.seen.segment),
        ),
    },
)

ENGINE: Final = Resource(
    family=ENGINES,
    row=rows.Engine,
    service=_SERVICE,
    serving=Serving(
        methods=("DecommissionEngines", "RecommissionEngines", "ListEngines"),
        servicer=EngineReads,
        access={"ListEngines": Access(right="read", domain=ENGINES)},
    ),
    key=("name",),
    view=View(cli=False),
    verbs={
        verb: Verb(
            apply_all=with_fleet("engines", apply),
            check=Checks(command=validation.each("engines", validation.check_engine)),
            reads=(BROKERS,),
            examples=("engine-1",),
        )
        for verb, apply in (
            ("Decommission", engines.decommission),
            ("Recommission", engines.recommission),
        )
    },
)

DROP: Final = Resource(
    family=DROPS,
    row=rows.Drop,
    service=_SERVICE,
    serving=Serving(
        methods=("AcknowledgeDrops", "ListDrops"),
        servicer=EngineReads,
        access={"ListDrops": Access(right="read", domain=DROPS, key="engine")},
    ),
    key=("engine", "shard_uid", "segment"),
    storage=Storage(counted=True),
    view=View(cli=False),
    verbs={
        "Acknowledge": Verb(
            apply_all=removal.acknowledge_drops,
            check=Checks(command=validation.check_acknowledge_drops),
            item=Item(key=lambda dropped: keys.pack(dropped.shard_uid, dropped.segment)),
            reads=(BROKERS,),
            examples=(
                pb.AcknowledgeDrops(
                    engine="engine-1",
                    broker_epoch=1,
                    segments=[pb.DroppedSegment(shard_uid=1, segment=0)],
                ),
            ),
        ),
        "ForgetDrops": Verb(
            apply_all=with_fleet("keys", removal.forget),
            check=Checks(command=lambda _: None),
            message=pb.ForgetDrops,
            reads=(BROKERS,),
            examples=(drop_key("engine-1", 1, 0),),
        ),
    },
)

RESOURCES: Final = (SHARD, SEGMENT, ENGINE, DROP)


def _query(message: Any, run: Any, *reads: str) -> Query[Any]:
    return Query(message=message, group=GROUP, run=run, shard_key=constant_key, reads=reads)


def _finder(message: Any, find: Any, *reads: str) -> Query[Any]:
    """Return a controller's query, which yields up to the limit that the query sets."""
    return _query(
        message,
        lambda reader, query: islice(find(reader, query), query.limit or validation.FOUND),
        *reads,
    )


QUERIES: Final = (
    _query(asked.GetShardQuery, shards.get_shard),
    _query(asked.ListShardsQuery, shards.list_shards),
    _query(asked.GetSegmentsQuery, segment_queries.get_segments),
    _query(asked.ListSegmentsQuery, segment_queries.list_segments),
    _finder(asked.FindOrphansQuery, leader_queries.find_orphans, BROKERS),
    _finder(asked.FindRecoverableQuery, leader_queries.find_recoverable, BROKERS),
    _finder(asked.FindDisplacedQuery, leader_queries.find_displaced, BROKERS),
    _query(asked.ListEnginesQuery, engine_queries.list_engines, BROKERS),
    _finder(asked.FindThinQuery, engine_queries.find_thin, BROKERS),
    _finder(asked.FindDeparturesQuery, engine_queries.find_departures, BROKERS),
    _query(asked.ListDropsQuery, removal_queries.list_drops),
    _finder(asked.FindRemovableQuery, removal_queries.find_removable),
    _finder(asked.FindAbandonedQuery, removal_queries.find_abandoned, BROKERS),
    _finder(asked.FindLostDropsQuery, removal_queries.find_lost_drops, BROKERS),
    _query(asked.GetHealthQuery, removal_queries.get_health),
)
