"""The resources of brokers, topics' queues and settings, with their verbs and queries."""

from functools import partial
from typing import Any, Final

from quorate.plugin import (
    Access,
    Admission,
    Checks,
    Controller,
    Item,
    NodeApi,
    Query,
    Resource,
    Serving,
    ShardRef,
    Timer,
    Verb,
    View,
)
from quorate.plugin.advanced import constant_key
from quorate.plugin.checking import check_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_name_server import service
from quorate_name_server.brokers import living
from quorate_name_server.brokers.registering import register
from quorate_name_server.families import BROKERS, GROUP, KV_CONFIGS, LIVENESS, QUEUES, member_key
from quorate_name_server.routes import queries
from quorate_name_server.topics import apply as topics
from quorate_name_server.topics.tables import TABLE
from quorate_name_server.v1 import (
    commands_pb2 as pb,
    queries_pb2 as asked,
    rows_pb2 as rows,
    service_pb2,
)
from quorate_name_server.validation import (
    check_deletion,
    check_heartbeat,
    check_member,
    check_name,
    check_queues,
    check_registration,
    check_setting,
)

_NAMES: Final = service_pb2.DESCRIPTOR.services_by_name["NameService"]
_SETTINGS: Final = service_pb2.DESCRIPTOR.services_by_name["KvConfigService"]
_VERSION: Final = rows.DataVersion(state_version=1, timestamp=1_795_366_419_098, counter=1)
_MEMBER: Final[dict[str, Any]] = {
    "cluster": "C1",
    "name": "broker-a",
    "address": "10.0.0.1:10911",
    "ha_address": "10.0.0.1:10912",
    "data_version": _VERSION,
}


def _queues(topic: str, perm: int = 6) -> pb.TopicQueues:
    return pb.TopicQueues(topic=topic, queues=rows.Queues(read_queues=8, write_queues=8, perm=perm))


BROKER: Final = Resource(
    family=BROKERS,
    group=GROUP,
    row=rows.Broker,
    service=_NAMES,
    serving=Serving(
        methods=(
            *("Register", "Heartbeat", "Unregister", "WipeWritePermission", "AddWritePermission"),
            *("GetRoutes", "GetBrokers", "ListTopics", "WatchRoutes"),
        ),
        servicer=service.NameService,
        access={
            **dict.fromkeys(
                ("Register", "Heartbeat", "Unregister"), Access(right="write", domain=BROKERS)
            ),
            **dict.fromkeys(
                ("GetRoutes", "WatchRoutes", "GetBrokers", "ListTopics"), Access(right="read")
            ),
        },
    ),
    key=("name",),
    check_key={"name": check_name},
    view=View(cli=False),
    verbs={
        "Register": Verb(
            apply=register,
            check=check_registration,
            admission=Admission(by_hand=True),
            item=Item(reply=pb.Registered, repeats=True),
            examples=(
                pb.Registration(**_MEMBER, topics=[_queues("orders"), _queues("TBW102", 7)]),
                pb.Registration(**_MEMBER, unchanged=True),
            ),
        ),
        "Heartbeat": Verb(
            apply=living.take_heartbeat,
            check=Checks(
                command=lambda command: check_each("brokers", command.brokers, check_heartbeat)
            ),
            item=Item(key=lambda item: item.name.encode(), repeats=True),
            admission=Admission(by_hand=True),
            examples=(pb.Heartbeat(name="broker-a", address="10.0.0.1:10911"),),
        ),
        "Unregister": Verb(
            apply=living.unregister,
            check=check_member,
            admission=Admission(by_hand=True),
            item=Item(reply=pb.Unregistered, repeats=True),
            examples=(pb.Unregistration(name="broker-b", address="10.0.0.2:10911"),),
        ),
        **{
            f"{verb}WritePermission": Verb(
                apply=partial(living.permit, wiped=wiped),
                item=Item(reply=pb.WritePermission),
                examples=("broker-a",),
            )
            for verb, wiped in (("Wipe", True), ("Add", False))
        },
        "Expire": Verb(
            apply_all=living.expire, message=pb.ExpireMembers, examples=(member_key("broker-a", 1),)
        ),
    },
)

QUEUES_OF_TOPIC: Final = Resource(
    family=QUEUES,
    group=GROUP,
    row=rows.Queues,
    serving=Serving(answer=pb.BrokerQueues, methods=("PutQueues", "DeleteTopics", "ListQueues")),
    service=_NAMES,
    key=("topic", "broker"),
    check_key={"topic": check_name, "broker": check_name},
    view=View(noun="topic's queues", cli=False, table=TABLE),
    verbs={
        "Put": Verb(
            apply=topics.put,
            check=check_queues,
            item=Item(reply=pb.BrokerQueues),
            examples=(
                pb.BrokerQueues(
                    topic="payments",
                    broker="broker-a",
                    queues=rows.Queues(read_queues=4, write_queues=4, perm=6),
                ),
            ),
        ),
        "DeleteTopics": Verb(
            apply=topics.delete,
            check=check_deletion,
            item=Item(reply=pb.DeletedTopic, key=lambda item: item.topic.encode()),
            examples=(pb.TopicDeletion(topic="payments"),),
        ),
        "Sweep": Verb(
            apply_all=topics.sweep,
            message=pb.SweepTopics,
            item=Item(key=lambda name: name.encode()),
            examples=("broker-b",),
        ),
    },
)

KV_CONFIG: Final = Resource(
    family=KV_CONFIGS,
    group=GROUP,
    row=rows.KvConfig,
    service=_SETTINGS,
    key=("namespace", "key"),
    check_key={"namespace": check_name, "key": check_name},
    check=check_setting,
    examples=(
        rows.KvConfig(namespace="ORDER_TOPIC_CONFIG", key="orders", value="broker-a:4"),
        rows.KvConfig(namespace="limits", key="rate", value="100"),
    ),
)

RESOURCES: Final = (BROKER, QUEUES_OF_TOPIC, KV_CONFIG)

#: A new leader waits a full timeout of each member before it expires one.
LIFE: Final = Timer(
    name=LIVENESS, group=GROUP, due=lambda due: pb.ExpireMembers(keys=due), liveness=True
)


async def sweep(node: NodeApi, shard: ShardRef) -> None:
    """Sweep until no removed broker has topics left."""
    while True:
        found = [each.name async for each in node.query(asked.FindDeparted(), asked.Departed)]
        if not found:
            return
        await node.propose(pb.SweepTopics(names=found), BatchReply, if_leader=shard)


SWEEPING: Final = Controller(
    name="name_server.sweeping", group=GROUP, run_once=sweep, interval_s=10.0, wake_on=(BROKERS,)
)


def _query(message: Any, run: Any) -> Query[Any]:
    return Query(message=message, group=GROUP, run=run, shard_key=constant_key)


QUERIES: Final = (
    _query(asked.ReadRoutes, queries.read_routes),
    _query(asked.ReadBrokers, queries.read_brokers),
    _query(asked.ReadTopics, queries.read_topics),
    _query(asked.FindDeparted, queries.find_departed),
)
