"""The words for changing and reading shards."""

from typing import Any, Final

from quorate.plugin import Command, DataRoute, Items, Query, constant_key

from quorate_storage_engine import validation
from quorate_storage_engine.examples import CONFIG
from quorate_storage_engine.families import BROKERS, GROUP, shard_key
from quorate_storage_engine.shards import apply, queries
from quorate_storage_engine.v1.commands_pb2 import (
    CreateShardCommand,
    CreateShardsCommand,
    DeleteShardCommand,
    DeleteShardsCommand,
)
from quorate_storage_engine.v1.queries_pb2 import GetShardQuery, ListShardsQuery

_ONE: Final = CreateShardCommand(
    name="orders-0", tenant="acme", topic="orders", description="Orders.", config=CONFIG
)
_TWO: Final = CreateShardCommand(name="orders-1", tenant="acme", topic="orders", config=CONFIG)

CREATE: Final = Command(
    message=CreateShardCommand,
    group=GROUP,
    shard_key=constant_key,
    validate=validation.check_create_shard,
    public=True,
    examples=(_ONE,),
)

CREATE_ALL: Final = Command(
    message=CreateShardsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.shards,
        shard_key=constant_key,
        make=lambda _, shards: CreateShardsCommand(shards=shards),
        key=lambda shard: shard_key(shard.name),
    ),
    validate=validation.check_create_shards,
    public=True,
    examples=(CreateShardsCommand(shards=[_ONE, _TWO]),),
)

DELETE: Final = Command(
    message=DeleteShardCommand,
    group=GROUP,
    shard_key=constant_key,
    validate=validation.check_delete_shard,
    public=True,
    examples=(DeleteShardCommand(name="orders-1"),),
)

DELETE_ALL: Final = Command(
    message=DeleteShardsCommand,
    group=GROUP,
    items=Items(
        get=lambda command: command.shards,
        shard_key=constant_key,
        make=lambda _, shards: DeleteShardsCommand(shards=shards),
        key=lambda shard: shard_key(shard.name),
    ),
    validate=validation.check_delete_shards,
    public=True,
    examples=(DeleteShardsCommand(shards=[DeleteShardCommand(name="orders-1")]),),
)

GET: Final = Query(
    message=GetShardQuery, group=GROUP, run=queries.get_shard, shard_key=constant_key
)
LIST: Final = Query(
    message=ListShardsQuery, group=GROUP, run=queries.list_shards, shard_key=constant_key
)

COMMANDS: Final[tuple[Command[Any], ...]] = (CREATE, CREATE_ALL, DELETE, DELETE_ALL)
QUERIES: Final[tuple[Query[Any], ...]] = (GET, LIST)
ROUTES: Final[tuple[DataRoute[Any], ...]] = (
    DataRoute(message=CreateShardCommand, apply=apply.create_shard, reads=(BROKERS,)),
    DataRoute(message=CreateShardsCommand, apply=apply.create_shards, reads=(BROKERS,)),
    DataRoute(message=DeleteShardCommand, apply=apply.delete_shard),
    DataRoute(message=DeleteShardsCommand, apply=apply.delete_shards),
)
