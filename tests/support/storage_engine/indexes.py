"""Compares the private indexes and the engines' loads with what the segments say."""

from collections import Counter
from collections.abc import Iterable

from quorate_storage_engine import families
from quorate_storage_engine.v1.rows_pb2 import SEGMENT_STATUS_DELETING, Segment

from tests.support.storage_engine.fleet import EngineCluster


def differences(cluster: EngineCluster) -> list[str]:
    """Return what an index or load says otherwise than the segments do."""
    found: list[str] = []
    segments = cluster.segments()
    for family, expected in _expected(segments).items():
        stored = set(cluster.node.rows(family))
        if stored != expected:
            found.append(f"{family} lacks {expected - stored} and has {stored - expected} too many")
    replicas = Counter(engine for segment in segments for engine in segment.replicas)
    leaders = Counter(segment.leader for segment in segments if segment.leader)
    engines = cluster.engines()
    for name in sorted(replicas.keys() | engines.keys()):
        engine = engines.get(name)
        counted = (engine.replicas, engine.leaderships) if engine else (0, 0)
        if counted != (replicas[name], leaders[name]):
            found.append(f"{name} is counted {counted}, not {(replicas[name], leaders[name])}")
    return found


def _expected(segments: Iterable[Segment]) -> dict[str, set[bytes]]:
    keys: dict[str, set[bytes]] = {
        family: set()
        for family in (
            families.REPLICAS,
            families.LEADERSHIPS,
            families.UNAVAILABLE,
            families.DISPLACED,
            families.THIN,
            families.REMOVALS,
        )
    }
    for segment in segments:
        place = (segment.shard, segment.number)
        key = families.segment_key(*place)
        keys[families.REPLICAS] |= {
            families.replica_key(engine, *place) for engine in segment.replicas
        }
        if segment.status == SEGMENT_STATUS_DELETING:
            keys[families.REMOVALS].add(key)
            continue
        if len(segment.replicas) < segment.wanted_replicas:
            keys[families.THIN].add(key)
        if not segment.leader:
            keys[families.UNAVAILABLE].add(key)
            continue
        epoch = segment.leader_broker_epoch
        keys[families.LEADERSHIPS].add(families.leadership_key(segment.leader, epoch, *place))
        if segment.leader != segment.replicas[0]:
            keys[families.DISPLACED].add(key)
    return keys
