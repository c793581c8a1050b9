"""The reads of engines, and the queries of the controller that places replicas."""

from collections.abc import Iterator

from quorate.plugin import Reader, keys

from quorate_storage_engine.engines.apply import additions, next_step, shortage
from quorate_storage_engine.engines.fleet import RACK, Fleet
from quorate_storage_engine.families import ENGINES, REPLICAS, THIN, replica_key
from quorate_storage_engine.segments.rows import indexed, read_segment, seen
from quorate_storage_engine.v1 import commands_pb2 as pb, queries_pb2 as asked, rows_pb2 as rows
from quorate_storage_engine.validation import LONGEST_LIST


def list_engines(reader: Reader, query: asked.ListEnginesQuery) -> Iterator[asked.EngineState]:
    """Yield the engines that are registered or have a row, by name."""
    fleet = Fleet(reader)
    states = {
        broker.name: asked.EngineState(broker_epoch=broker.epoch, rack=broker.labels.get(RACK, ""))
        for broker in fleet.registered()
    }
    for row in reader.scan(ENGINES, *keys.prefix()):
        states.setdefault(rows.Engine.FromString(row.value).name, asked.EngineState())
    wanted = sorted(name for name in states if name > query.after_name)
    for name in wanted[: min(query.limit or LONGEST_LIST, LONGEST_LIST)]:
        states[name].engine.CopyFrom(fleet.engine(name))
        yield states[name]


def find_thin(reader: Reader, query: asked.FindThinQuery) -> Iterator[pb.SeenSegment]:
    """Yield segments with too few replicas to which an engine can be added."""
    fleet = Fleet(reader)
    for segment in indexed(reader, THIN, query.after):
        if additions(segment, fleet, shortage(segment)):
            yield seen(segment)


def find_departures(reader: Reader, query: asked.FindDeparturesQuery) -> Iterator[pb.Departure]:
    """Yield replicas on decommissioned engines for which a step can be taken."""
    fleet, after = Fleet(reader), query.after
    for row in reader.scan(ENGINES, keys.pack(after.engine) if after.engine else b"", b"\xff"):
        engine = rows.Engine.FromString(row.value)
        if not engine.decommissioned_at_ms or not engine.replicas:
            continue
        start, end = keys.prefix(engine.name)
        if engine.name == after.engine:
            start = keys.successor(replica_key(engine.name, after.seen.shard, after.seen.segment))
        for entry in reader.scan(REPLICAS, start, end):
            _, shard, number = keys.unpack(entry.key)
            segment = read_segment(reader, str(shard), int(number))
            if segment is not None and next_step(segment, engine.name, fleet) is not None:
                yield pb.Departure(seen=seen(segment), engine=engine.name)
