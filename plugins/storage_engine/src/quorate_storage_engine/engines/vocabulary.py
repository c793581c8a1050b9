"""The words for engines, and for moving replicas between them."""

from typing import Any, Final

from quorate.plugin import Command, DataRoute, Items, Query, constant_key, keys

from quorate_storage_engine import validation
from quorate_storage_engine.engines import apply, queries
from quorate_storage_engine.examples import SEEN
from quorate_storage_engine.families import BROKERS, GROUP, engine_key, segment_key
from quorate_storage_engine.v1.commands_pb2 import (
    DecommissionEnginesCommand,
    Departure,
    FillReplicasCommand,
    MoveReplicasCommand,
    RecommissionEnginesCommand,
)
from quorate_storage_engine.v1.queries_pb2 import (
    FindDeparturesQuery,
    FindThinQuery,
    ListEnginesQuery,
)

DECOMMISSION: Final = Command(
    message=DecommissionEnginesCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.engines,
        shard_key=constant_key,
        make=lambda _, engines: DecommissionEnginesCommand(engines=engines),
        key=lambda name: engine_key(name),
    ),
    validate=validation.check_engines,
    public=True,
    examples=(DecommissionEnginesCommand(engines=["engine-1"]),),
)

RECOMMISSION: Final = Command(
    message=RecommissionEnginesCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.engines,
        shard_key=constant_key,
        make=lambda _, engines: RecommissionEnginesCommand(engines=engines),
        key=lambda name: engine_key(name),
    ),
    validate=validation.check_engines,
    public=True,
    examples=(RecommissionEnginesCommand(engines=["engine-1"]),),
)

FILL: Final = Command(
    message=FillReplicasCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.segments,
        shard_key=constant_key,
        make=lambda _, segments: FillReplicasCommand(segments=segments),
        key=lambda seen: segment_key(seen.shard, seen.segment),
    ),
    examples=(FillReplicasCommand(segments=[SEEN]),),
)

MOVE: Final = Command(
    message=MoveReplicasCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.departures,
        shard_key=constant_key,
        make=lambda _, departures: MoveReplicasCommand(departures=departures),
        key=lambda departure: keys.pack(
            departure.engine, departure.seen.shard, departure.seen.segment
        ),
    ),
    examples=(MoveReplicasCommand(departures=[Departure(seen=SEEN, engine="engine-1")]),),
)

LIST: Final = Query(
    message=ListEnginesQuery,
    group=GROUP,
    run=queries.list_engines,
    shard_key=constant_key,
    reads=(BROKERS,),
)

FIND_THIN: Final = Query(
    message=FindThinQuery,
    group=GROUP,
    run=queries.find_thin,
    shard_key=constant_key,
    reads=(BROKERS,),
)

FIND_DEPARTURES: Final = Query(
    message=FindDeparturesQuery,
    group=GROUP,
    run=queries.find_departures,
    shard_key=constant_key,
    reads=(BROKERS,),
)

COMMANDS: Final[tuple[Command[Any], ...]] = (
    DECOMMISSION,
    RECOMMISSION,
    FILL,
    MOVE,
)
QUERIES: Final[tuple[Query[Any], ...]] = (
    LIST,
    FIND_THIN,
    FIND_DEPARTURES,
)
ROUTES: Final[tuple[DataRoute[Any], ...]] = (
    DataRoute(
        message=DecommissionEnginesCommand, apply=apply.decommission_engines, reads=(BROKERS,)
    ),
    DataRoute(
        message=RecommissionEnginesCommand, apply=apply.recommission_engines, reads=(BROKERS,)
    ),
    DataRoute(message=FillReplicasCommand, apply=apply.fill_replicas, reads=(BROKERS,)),
    DataRoute(message=MoveReplicasCommand, apply=apply.move_replicas, reads=(BROKERS,)),
)
