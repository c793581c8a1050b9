"""The rows of the name server."""

from __future__ import annotations

from typing import Final

from google.protobuf.message import Message
from quorate_name_server.v1 import (
    commands_pb2 as pb,
    replica_sets_pb2 as sets,
    rows_pb2 as rows,
    service_pb2 as asked,
)

from tests.integration.rows.row import MANY, STRANGE, TEXT, InPlace, Row, by_method


def said(**fields: object) -> pb.RegisterBrokers:
    given = {"cluster": "c", "name": "b", "address": "a:1", **fields}
    return pb.RegisterBrokers(brokers=[pb.Registration(**given)])  # type: ignore[arg-type]  # by name


def beat(**fields: str) -> pb.SendHeartbeats:
    return pb.SendHeartbeats(brokers=[pb.Heartbeat(**fields)])


def leaving(**fields: str) -> pb.UnregisterBrokers:
    return pb.UnregisterBrokers(brokers=[pb.Unregistration(**fields)])  # type: ignore[arg-type]


def queues(**fields: str) -> pb.PutQueues:
    given = {"topic": "t", "broker": "b", **fields}
    return pb.PutQueues(queues=[pb.BrokerQueues(**given)])  # type: ignore[arg-type]  # by name


def setting(**fields: str) -> pb.PutKvConfigs:
    given = {"namespace": "n", "key": "k", **fields}
    return pb.PutKvConfigs(configs=[rows.KvConfig(**given)])  # type: ignore[arg-type]  # by name


def replica(**fields: object) -> sets.ApplyReplicaIds:
    given = {"name": "b", "cluster": "c", "id": 1, "check_code": "x", **fields}
    return sets.ApplyReplicaIds(replicas=[sets.ReplicaId(**given)])  # type: ignore[arg-type]


def placed(kind: type[Message], **fields: str) -> Message:
    given = {"name": "b", "address": "a:1", **fields}
    return kind(replicas=[sets.ReplicaAddress(id=1, **given)])


NUMBERS: Final = pb.BrokerQueues(topic="t", broker="b", queues=rows.Queues(perm=1 << 31))

NAMES: Final = {
    "Register": Row(
        empty=None,
        large=(
            (said(name=TEXT), InPlace("brokers[0].name")),
            (said(zone=TEXT), InPlace("brokers[0].zone")),
            (said(topics=[pb.TopicQueues(topic=TEXT)]), InPlace("brokers[0].topics.topic")),
            (pb.RegisterBrokers(brokers=[pb.Registration()] * MANY), "brokers"),
        ),
        wrong=(
            (said(name=""), InPlace("brokers[0].name")),
            (said(address=STRANGE), InPlace("brokers[0].address")),
            (said(id=-2), InPlace("brokers[0].id")),
            (said(heartbeat_timeout_ms=1 << 31), InPlace("brokers[0].heartbeat_timeout_ms")),
        ),
    ),
    "Heartbeat": Row(
        empty=None,
        large=(
            (beat(address=TEXT), InPlace("brokers[0].address")),
            (pb.SendHeartbeats(brokers=[pb.Heartbeat()] * MANY), "brokers"),
        ),
        wrong=((beat(name="b"), InPlace("brokers[0].address")),),
    ),
    "Unregister": Row(
        empty=None,
        large=(
            (leaving(name=TEXT, address="a:1"), InPlace("brokers[0].name")),
            (pb.UnregisterBrokers(brokers=[pb.Unregistration()] * MANY), "brokers"),
        ),
        wrong=((leaving(name="b"), InPlace("brokers[0].address")),),
    ),
    "WipeWritePermission": Row(
        empty=None, large=((pb.WipeWritePermission(names=[TEXT]), InPlace("names[0]")),)
    ),
    "AddWritePermission": Row(
        empty=None, large=((pb.AddWritePermission(names=[TEXT]), InPlace("names[0]")),)
    ),
    "PutQueues": Row(
        empty=None,
        large=(
            (queues(topic=TEXT), InPlace("queues[0].topic")),
            (pb.PutQueues(queues=[NUMBERS]), InPlace("queues[0].queues.perm")),
        ),
        wrong=((queues(broker=STRANGE), InPlace("queues[0].broker")),),
    ),
    "DeleteTopics": Row(
        empty=None,
        large=(
            (pb.DeleteTopics(topics=[pb.TopicDeletion(topic=TEXT)]), InPlace("topics[0].topic")),
        ),
        wrong=(
            (
                pb.DeleteTopics(topics=[pb.TopicDeletion(topic="t", cluster=STRANGE)]),
                InPlace("topics[0].cluster"),
            ),
        ),
    ),
    "GetRoutes": Row(
        empty=None,
        large=(
            (asked.GetRoutesRequest(topics=[TEXT]), "topics[0]"),
            (asked.GetRoutesRequest(topics=["t"] * MANY), "topics"),
        ),
    ),
    "WatchRoutes": Row(
        empty="topics",
        large=(
            (asked.WatchRoutesRequest(topics=[TEXT]), "topics[0]"),
            (asked.WatchRoutesRequest(topics=["t"] * MANY), "topics"),
        ),
    ),
    "GetBrokers": Row(
        empty=None,
        large=(
            (asked.GetBrokersRequest(names=[TEXT]), "names[0]"),
            (asked.GetBrokersRequest(cluster=TEXT), "cluster"),
        ),
    ),
    "ListTopics": Row(
        empty=None,
        large=(
            (asked.ListTopicsRequest(cluster=TEXT), "cluster"),
            (asked.ListTopicsRequest(page_token=TEXT), "page_token"),
        ),
    ),
    "ListQueues": Row(
        empty=None,
        large=(
            (asked.ListQueuesRequest(topic=TEXT), "topic"),
            (asked.ListQueuesRequest(page_size=MANY), "page_size"),
        ),
        wrong=((asked.ListQueuesRequest(page_token=b"\xff"), "page_token"),),
    ),
}

SETTINGS: Final = {
    "PutConfigs": Row(
        empty=None,
        large=(
            (setting(key=TEXT), InPlace("configs[0].key")),
            (setting(value="v" * 65_537), InPlace("configs[0].value")),
        ),
        wrong=((setting(namespace=STRANGE), InPlace("configs[0].namespace")),),
    ),
    "DeleteConfigs": Row(
        empty=None,
        large=(
            (
                pb.DeleteKvConfigs(configs=[pb.KvConfigKey(namespace="n", key=TEXT)]),
                InPlace("configs[0].key"),
            ),
        ),
    ),
    "GetConfigs": Row(
        empty=None,
        large=(
            (
                asked.GetKvConfigs(configs=[pb.KvConfigKey(namespace=TEXT, key="k")]),
                "configs[0].namespace",
            ),
        ),
    ),
    "ListConfigs": Row(
        empty=None,
        large=(
            (asked.ListKvConfigs(namespace=TEXT), "namespace"),
            (asked.ListKvConfigs(page_size=MANY), "page_size"),
        ),
        wrong=((asked.ListKvConfigs(page_token=b"\xff"), "page_token"),),
    ),
}

REPLICAS: Final = {
    "ApplyId": Row(
        empty=None,
        large=((replica(name=TEXT), InPlace("replicas[0].name")),),
        wrong=(
            (replica(id=0), InPlace("replicas[0].id")),
            (replica(check_code=""), InPlace("replicas[0].check_code")),
        ),
    ),
    "Register": Row(
        empty=None,
        large=((placed(sets.RegisterReplicas, address=TEXT), InPlace("replicas[0].address")),),
        wrong=((placed(sets.RegisterReplicas, name=""), InPlace("replicas[0].name")),),
    ),
    "Heartbeat": Row(
        empty=None,
        large=(
            (
                sets.SendReplicaHeartbeats(
                    replicas=[sets.ReplicaHeartbeat(name="b", id=1, timeout_ms=1 << 31)]
                ),
                InPlace("replicas[0].timeout_ms"),
            ),
        ),
    ),
    "Lose": Row(
        empty=None,
        large=((placed(sets.LoseReplicas, name=TEXT), InPlace("replicas[0].name")),),
    ),
    "Elect": Row(
        empty=None,
        large=(
            (
                sets.ElectMasters(elections=[sets.Election(name=TEXT)]),
                InPlace("elections[0].name"),
            ),
        ),
        wrong=(
            (
                sets.ElectMasters(elections=[sets.Election(name="b", designated=True)]),
                InPlace("elections[0].id"),
            ),
        ),
    ),
    "AlterInSync": Row(
        empty=None,
        large=(
            (
                sets.AlterInSyncSets(sets=[sets.InSyncSet(name="b", in_sync=range(101))]),
                InPlace("sets[0].in_sync"),
            ),
        ),
        wrong=(
            (
                sets.AlterInSyncSets(sets=[sets.InSyncSet(name="b")]),
                InPlace("sets[0].in_sync"),
            ),
        ),
    ),
    "Clean": Row(
        empty=None,
        large=(
            (
                sets.CleanReplicas(sets=[sets.ReplicaCleaning(name="b", ids=range(101))]),
                InPlace("sets[0].ids"),
            ),
        ),
    ),
    "Get": Row(empty=None, large=((sets.GetReplicaSets(sets=[TEXT]), "sets[0]"),)),
    "List": Row(
        empty=None,
        large=((sets.ListReplicaSets(page_size=MANY), "page_size"),),
        wrong=((sets.ListReplicaSets(page_token=b"\xff"), "page_token"),),
    ),
}

ROWS: Final = by_method(
    {
        "quorate_name_server.v1.ReplicaSetService": REPLICAS,
        "quorate_name_server.v1.NameService": NAMES,
        "quorate_name_server.v1.KvConfigService": SETTINGS,
    }
)
