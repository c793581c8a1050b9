"""The queries of the elections."""

from collections.abc import Iterator
from typing import Final

from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import Reader, keys
from quorate.v1.cluster_pb2 import Broker

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.families import (
    DISPLACED,
    ENGINES,
    LEADERSHIPS,
    UNAVAILABLE,
    engine_key,
)
from quorate_storage_engine.leadership.apply import preferred_leader
from quorate_storage_engine.segments.rows import indexed, read_segment, seen
from quorate_storage_engine.v1 import commands_pb2 as pb, queries_pb2 as asked, rows_pb2 as rows

#: The listener under which an engine registers the address of its StorageNode.
ADDRESS: Final = "storage"


def find_orphans(reader: Reader, query: asked.FindOrphansQuery) -> Iterator[pb.SeenSegment]:
    """Yield segments with a leader that is gone, or registered as another process."""
    fleet = Fleet(reader)
    for row in reader.scan(ENGINES, *keys.prefix()):
        engine = rows.Engine.FromString(row.value)
        if not engine.leaderships:
            continue
        start, end = keys.prefix(engine.name)
        if fleet.is_registered(engine.name):
            # The leaderships of the registered process sort last.
            end = keys.pack(engine.name, fleet.broker_epoch(engine.name))
        for entry in reader.scan(LEADERSHIPS, start, end):
            _, _, shard, number = keys.unpack(entry.key)
            segment = read_segment(reader, str(shard), int(number))
            if segment is not None:
                yield seen(segment)


def find_recoverable(
    reader: Reader, query: asked.FindRecoverableQuery
) -> Iterator[asked.RecoverableSegment]:
    """Yield unavailable segments with a registered last known in-sync replica."""
    fleet = Fleet(reader)
    for segment in indexed(reader, UNAVAILABLE, query.after):
        candidates = [
            _candidate(reader, engine)
            for engine in segment.last_known_isr
            if fleet.is_registered(engine)
        ]
        if candidates:
            yield asked.RecoverableSegment(segment=segment, candidates=candidates)


def _candidate(reader: Reader, engine: str) -> asked.Candidate:
    broker = Broker.FromString(reader.get(BROKERS, engine_key(engine)) or b"")
    return asked.Candidate(
        engine=engine, broker_epoch=broker.epoch, address=broker.addresses.get(ADDRESS, "")
    )


def find_displaced(reader: Reader, query: asked.FindDisplacedQuery) -> Iterator[asked.LeaderMove]:
    """Yield segments that are led by another replica although the preferred leader is able to."""
    fleet = Fleet(reader)
    for segment in indexed(reader, DISPLACED, query.after):
        preferred = preferred_leader(segment, fleet)
        if preferred is not None:
            yield asked.LeaderMove(seen=seen(segment), leader=segment.leader, preferred=preferred)
