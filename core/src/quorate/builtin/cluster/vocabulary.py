"""The words for changing and reading brokers: all that a client needs to know of the domain."""

from typing import Any, Final

from quorate.builtin.cluster import families, queries, validation
from quorate.builtin.cluster.families import GROUP, broker_key, life_key
from quorate.plugin import Command, Items, Query, Timer, constant_key
from quorate.v1.cluster_pb2 import (
    ExpireBrokers,
    GetBroker,
    ListBrokers,
    RegisterBroker,
    RegisterBrokers,
    SendHeartbeat,
    SendHeartbeats,
    UnregisterBroker,
    UnregisterBrokers,
)

_ONE: Final = RegisterBroker(
    name="broker-1",
    cluster_name="north",
    roles=["mqtt", "engine"],
    labels={"zone": "a", "rack": "7"},
    addresses={"mqtt": "127.0.0.1:1883", "grpc": "127.0.0.1:9981"},
)
_TWO: Final = RegisterBroker(name="broker-2", cluster_name="south", ttl_ms=30_000)

REGISTER: Final = Command(
    message=RegisterBroker,
    group=GROUP,
    shard_key=constant_key,
    validate=validation.check_registration,
    public=True,
    examples=(_ONE, _TWO),
)

REGISTER_ALL: Final = Command(
    message=RegisterBrokers,
    group=GROUP,
    items=Items(
        get=lambda command: command.brokers,
        shard_key=constant_key,
        make=lambda _, brokers: RegisterBrokers(brokers=brokers),
        key=lambda broker: broker_key(broker.name),
    ),
    validate=validation.check_registrations,
    public=True,
    examples=(RegisterBrokers(brokers=[_TWO, _ONE]),),
)

HEARTBEAT: Final = Command(
    message=SendHeartbeat,
    group=GROUP,
    shard_key=constant_key,
    validate=validation.check_process,
    public=True,
    examples=(SendHeartbeat(name="broker-1", epoch=4), SendHeartbeat(name="broker-1", epoch=1)),
)

HEARTBEATS: Final = Command(
    message=SendHeartbeats,
    group=GROUP,
    items=Items(
        get=lambda command: command.heartbeats,
        shard_key=constant_key,
        make=lambda _, heartbeats: SendHeartbeats(heartbeats=heartbeats),
        key=lambda heartbeat: broker_key(heartbeat.name),
    ),
    validate=validation.check_heartbeats,
    public=True,
    examples=(
        SendHeartbeats(
            heartbeats=[
                SendHeartbeat(name="broker-1", epoch=1),
                SendHeartbeat(name="broker-2", epoch=3),
            ]
        ),
    ),
)

UNREGISTER: Final = Command(
    message=UnregisterBroker,
    group=GROUP,
    shard_key=constant_key,
    validate=validation.check_process,
    public=True,
    examples=(UnregisterBroker(name="broker-2", epoch=3),),
)

UNREGISTER_ALL: Final = Command(
    message=UnregisterBrokers,
    group=GROUP,
    items=Items(
        get=lambda command: command.brokers,
        shard_key=constant_key,
        make=lambda _, brokers: UnregisterBrokers(brokers=brokers),
        key=lambda broker: broker_key(broker.name),
    ),
    validate=validation.check_leaves,
    public=True,
    examples=(
        UnregisterBrokers(
            brokers=[
                UnregisterBroker(name="broker-2", epoch=3),
                UnregisterBroker(name="broker-1", epoch=1),
            ]
        ),
    ),
)

EXPIRE: Final = Command(
    message=ExpireBrokers,
    group=GROUP,
    items=Items(
        get=lambda command: command.keys,
        shard_key=constant_key,
        make=lambda _, keys: ExpireBrokers(keys=keys),
        key=lambda key: key,
    ),
    examples=(ExpireBrokers(keys=[life_key("broker-1", 4), life_key("broker-2", 3)]),),
)

GET: Final = Query(message=GetBroker, group=GROUP, run=queries.get_broker, shard_key=constant_key)

LIST: Final = Query(
    message=ListBrokers, group=GROUP, run=queries.list_brokers, shard_key=constant_key
)

LIVENESS: Final = Timer(
    name=families.LIVENESS,
    group=GROUP,
    due=lambda keys: ExpireBrokers(keys=keys),
    liveness=True,
)

COMMANDS: Final[tuple[Command[Any], ...]] = (
    REGISTER,
    REGISTER_ALL,
    HEARTBEAT,
    HEARTBEATS,
    UNREGISTER,
    UNREGISTER_ALL,
    EXPIRE,
)
QUERIES: Final[tuple[Query[Any], ...]] = (GET, LIST)
