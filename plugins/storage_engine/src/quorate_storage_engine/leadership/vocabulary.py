"""The words for elections."""

from typing import Any, Final

from quorate.plugin import Command, DataRoute, Items, Query, constant_key

from quorate_storage_engine import validation
from quorate_storage_engine.examples import SEEN
from quorate_storage_engine.families import BROKERS, GROUP, segment_key
from quorate_storage_engine.leadership import apply, queries
from quorate_storage_engine.v1.commands_pb2 import (
    Election,
    ElectLeadersCommand,
    ForceLeaderCommand,
    ForceLeadersCommand,
    MoveLeadersCommand,
    SwitchLeadersCommand,
)
from quorate_storage_engine.v1.queries_pb2 import (
    FindDisplacedQuery,
    FindOrphansQuery,
    FindRecoverableQuery,
)

_FORCE: Final = ForceLeaderCommand(shard="orders-0", segment=0, engine="engine-1", segment_epoch=1)

FORCE: Final = Command(
    message=ForceLeaderCommand,
    group=GROUP,
    shard_key=constant_key,
    validate=validation.check_force_leader,
    public=True,
    examples=(_FORCE,),
)

FORCE_ALL: Final = Command(
    message=ForceLeadersCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.elections,
        shard_key=constant_key,
        make=lambda _, elections: ForceLeadersCommand(elections=elections),
        key=lambda election: segment_key(election.shard, election.segment),
    ),
    validate=validation.check_force_leaders,
    public=True,
    examples=(ForceLeadersCommand(elections=[_FORCE]),),
)

SWITCH: Final = Command(
    message=SwitchLeadersCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.segments,
        shard_key=constant_key,
        make=lambda _, segments: SwitchLeadersCommand(segments=segments),
        key=lambda seen: segment_key(seen.shard, seen.segment),
    ),
    examples=(SwitchLeadersCommand(segments=[SEEN]),),
)

ELECT: Final = Command(
    message=ElectLeadersCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.elections,
        shard_key=constant_key,
        make=lambda _, elections: ElectLeadersCommand(elections=elections),
        key=lambda election: segment_key(election.seen.shard, election.seen.segment),
    ),
    examples=(
        ElectLeadersCommand(elections=[Election(seen=SEEN, engine="engine-1", broker_epoch=1)]),
    ),
)

MOVE: Final = Command(
    message=MoveLeadersCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.segments,
        shard_key=constant_key,
        make=lambda _, segments: MoveLeadersCommand(segments=segments),
        key=lambda seen: segment_key(seen.shard, seen.segment),
    ),
    examples=(MoveLeadersCommand(segments=[SEEN]),),
)

FIND_ORPHANS: Final = Query(
    message=FindOrphansQuery,
    group=GROUP,
    run=queries.find_orphans,
    shard_key=constant_key,
    reads=(BROKERS,),
)

FIND_RECOVERABLE: Final = Query(
    message=FindRecoverableQuery,
    group=GROUP,
    run=queries.find_recoverable,
    shard_key=constant_key,
    reads=(BROKERS,),
)

FIND_DISPLACED: Final = Query(
    message=FindDisplacedQuery,
    group=GROUP,
    run=queries.find_displaced,
    shard_key=constant_key,
    reads=(BROKERS,),
)

COMMANDS: Final[tuple[Command[Any], ...]] = (
    FORCE,
    FORCE_ALL,
    SWITCH,
    ELECT,
    MOVE,
)
QUERIES: Final[tuple[Query[Any], ...]] = (
    FIND_ORPHANS,
    FIND_RECOVERABLE,
    FIND_DISPLACED,
)
ROUTES: Final[tuple[DataRoute[Any], ...]] = (
    DataRoute(message=ForceLeaderCommand, apply=apply.force_leader, reads=(BROKERS,)),
    DataRoute(message=ForceLeadersCommand, apply=apply.force_leaders, reads=(BROKERS,)),
    DataRoute(message=SwitchLeadersCommand, apply=apply.switch_leaders, reads=(BROKERS,)),
    DataRoute(message=ElectLeadersCommand, apply=apply.elect_leaders, reads=(BROKERS,)),
    DataRoute(message=MoveLeadersCommand, apply=apply.move_leaders, reads=(BROKERS,)),
)
