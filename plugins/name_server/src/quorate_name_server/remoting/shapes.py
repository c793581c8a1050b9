"""Brokers and routes in the shapes of RocketMQ's JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from quorate_name_server.brokers.rows import MASTER, clusters_of
from quorate_name_server.routes.making import WRITE
from quorate_name_server.v1 import (
    commands_pb2 as pb,
    rows_pb2 as rows,
    service_pb2 as answers,
)

#: Topics by which the members of a broker find each other; they need the real members.
_OF_MEMBERS: Final = "rmq_sys_SYNC_BROKER_MEMBER_"


def addresses(broker: rows.Broker) -> dict[int, str]:
    """Return the addresses of a broker's members by id."""
    return {member.id: member.address for member in broker.members}


def broker_data(broker: rows.Broker) -> dict[str, Any]:
    """Return a broker in the shape of routes."""
    said: dict[str, Any] = {
        "brokerAddrs": addresses(broker),
        "brokerName": broker.name,
        "cluster": broker.cluster,
        "enableActingMaster": broker.enable_acting_master,
    }
    if broker.zone:
        said["zoneName"] = broker.zone
    return said


def cluster_info(brokers: Iterable[rows.Broker]) -> dict[str, Any]:
    """Return all brokers by name, and their names by cluster."""
    tables: dict[str, Any] = {}
    clusters: dict[str, list[str]] = {}
    for broker in brokers:
        tables[broker.name] = broker_data(broker)
        for cluster in clusters_of(broker):
            clusters.setdefault(cluster, []).append(broker.name)
    return {"brokerAddrTable": tables, "clusterAddrTable": clusters}


def data_version(version: rows.DataVersion) -> dict[str, int]:
    """Return a data version."""
    return {
        "counter": version.counter,
        "stateVersion": version.state_version,
        "timestamp": version.timestamp,
    }


def route_data(
    route: answers.Route, *, ordered: bool, acting: bool, zone: str | None
) -> dict[str, Any]:
    """Return a route; with `acting`, a slave takes the place of a missing master.

    With a zone, brokers of other zones are left out if they have a master.
    """
    brokers = [broker_data(broker) for broker in route.brokers]
    if acting and not route.topic.startswith(_OF_MEMBERS):
        perms = {each.broker: each.queues.perm for each in route.queues}
        for broker in brokers:
            _let_act(broker, perms.get(broker["brokerName"], WRITE))
    if zone:
        brokers = [broker for broker in brokers if _in_zone(broker, zone)]
    named = {broker["brokerName"] for broker in brokers}
    said: dict[str, Any] = {
        "brokerDatas": brokers,
        "filterServerTable": {
            member.address: list(member.filter_servers)
            for broker in route.brokers
            if broker.name in named
            for member in broker.members
            if member.filter_servers
        },
        "queueDatas": [_queue_data(each) for each in route.queues if each.broker in named],
    }
    if ordered and route.order_config:
        said["orderTopicConf"] = route.order_config
    if route.mappings:
        said["topicQueueMappingByBroker"] = {
            each.broker: _mapping(each) for each in route.mappings if each.broker in named
        }
    return said


def _queue_data(queues: pb.BrokerQueues) -> dict[str, Any]:
    return {
        "brokerName": queues.broker,
        "perm": queues.queues.perm,
        "readQueueNums": queues.queues.read_queues,
        "topicSysFlag": queues.queues.topic_sys_flag,
        "writeQueueNums": queues.queues.write_queues,
    }


def _mapping(mapping: pb.TopicQueueMapping) -> dict[str, Any]:
    said = mapping.mapping
    return {
        "bname": mapping.broker,
        "currIdMap": {each.logical: each.physical for each in said.queues},
        "dirty": said.dirty,
        "epoch": said.epoch,
        "scope": said.scope,
        "topic": mapping.topic,
        "totalQueues": said.total_queues,
    }


def _let_act(broker: dict[str, Any], perm: int) -> None:
    members = broker["brokerAddrs"]
    if broker["enableActingMaster"] and members and MASTER not in members and not perm & WRITE:
        members[MASTER] = members.pop(min(members))


def _in_zone(broker: dict[str, Any], zone: str) -> bool:
    return MASTER not in broker["brokerAddrs"] or broker.get("zoneName", "").lower() == zone.lower()
