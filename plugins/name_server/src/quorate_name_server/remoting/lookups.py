"""Handlers of look-ups by clients, brokers and tools."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final

from quorate_name_server.brokers.rows import clusters_of
from quorate_name_server.remoting.door import Door, Handle, RefusedError
from quorate_name_server.remoting.headers import SYSTEM_ERROR, Request, Response
from quorate_name_server.remoting.java_json import dumps, dumps_standard
from quorate_name_server.remoting.shapes import addresses, cluster_info, route_data
from quorate_name_server.v1 import service_pb2 as answers

if TYPE_CHECKING:
    from quorate_name_server.remoting.connection import Connection

_TOPIC_NOT_EXIST: Final = 17
#: The first release that reads standard JSON: 4.9.4.
_STANDARD_SINCE: Final = 401
_NO_ROUTE: Final = (
    "No topic route info in name server for the topic: {}\n"
    "See https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
)
#: Bits of a topic's flags.
_UNIT: Final = 1
_UNIT_SUBSCRIPTION: Final = 2


def route(door: Door, _: Connection, request: Request) -> Response | Awaitable[Response]:
    """Answer with the route of a topic."""
    topic = request.text("topic") or "null"
    zone = request.text("__ZONE_NAME") if request.boolean("__ZONE_MODE") else None
    standard = not zone and (
        request.version >= _STANDARD_SINCE or bool(request.boolean("acceptStandardJsonOnly"))
    )
    if not door.at_hand:
        return _read_route(door, topic, zone, standard=standard)

    def make() -> bytes:
        return _route_body(door, door.known.route(topic), topic, zone, standard=standard)

    if zone:
        return Response(body=make())
    return Response(body=door.kept(("route", topic, standard), make))


async def _read_route(door: Door, topic: str, zone: str | None, *, standard: bool) -> Response:
    found = await door.names.GetRoutes(answers.GetRoutesRequest(topics=[topic]), None)
    held = found.routes[0] if found.routes else None
    return Response(body=_route_body(door, held, topic, zone, standard=standard))


def _route_body(
    door: Door, found: answers.Route | None, topic: str, zone: str | None, *, standard: bool
) -> bytes:
    if found is None:
        raise RefusedError(Response(_TOPIC_NOT_EXIST, _NO_ROUTE.format(topic)))
    said = route_data(
        found,
        ordered=door.settings.on("orderMessageEnable"),
        acting=door.settings.on("supportActingMaster"),
        zone=zone,
    )
    return dumps_standard(said) if standard else dumps(said)


def clusters(door: Door, _: Connection, request: Request) -> Response | Awaitable[Response]:
    """Answer with all brokers by cluster."""
    if door.at_hand:
        return Response(
            body=door.kept("clusters", lambda: dumps(cluster_info(door.known.brokers.values())))
        )
    return _read_clusters(door)


async def _read_clusters(door: Door) -> Response:
    found = await door.names.GetBrokers(answers.GetBrokersRequest(), None)
    return Response(body=dumps(cluster_info(found.brokers)))


async def member_group(door: Door, _: Connection, request: Request) -> Response:
    """Answer with the addresses of a broker's members."""
    name = request.text("brokerName")
    group = {
        "brokerAddrs": addresses(await door.broker(name)),
        "brokerName": name,
        "cluster": request.text("clusterName"),
    }
    return Response(body=dumps({"brokerMemberGroup": group}))


def _listing(setting: str, **conditions: Any) -> Handle:
    """Return a handler that lists the topics that meet conditions, unless a setting forbids it."""

    async def topics(door: Door, _: Connection, request: Request) -> Response:
        _check_enabled(door, setting)
        return await _topics(door, answers.ListTopicsRequest(**conditions))

    return topics


all_topics: Final = _listing("enableAllTopicList")
unit_topics: Final = _listing("enableTopicList", flags=_UNIT)
#: Topics of a unit's subscriptions.
unit_subscription_topics: Final = _listing("enableTopicList", flags=_UNIT_SUBSCRIPTION)
#: Topics of a unit's subscriptions that belong to no unit.
subscription_topics_of_no_unit: Final = _listing(
    "enableTopicList", flags=_UNIT_SUBSCRIPTION, without_flags=_UNIT
)


async def topics_of_cluster(door: Door, _: Connection, request: Request) -> Response:
    """List the topics with queues on brokers of a cluster."""
    _check_enabled(door, "enableTopicList")
    cluster = request.text("cluster")
    if not cluster:
        return Response(body=dumps({"topicList": []}))
    return await _topics(door, answers.ListTopicsRequest(cluster=cluster))


async def system_topics(door: Door, _: Connection, request: Request) -> Response:
    """List the names of clusters and brokers, after which brokers name their system topics."""
    found = await door.names.GetBrokers(answers.GetBrokersRequest(), None)
    named = {cluster for broker in found.brokers for cluster in clusters_of(broker)}
    said: dict[str, object] = {
        "topicList": [*sorted(named), *(broker.name for broker in found.brokers)]
    }
    for broker in found.brokers:
        said["brokerAddr"] = broker.members[0].address
        break
    return Response(body=dumps(said))


def _check_enabled(door: Door, setting: str) -> None:
    if not door.settings.on(setting):
        raise RefusedError(Response(SYSTEM_ERROR, "disable"))


async def _topics(door: Door, request: answers.ListTopicsRequest) -> Response:
    found: list[str] = []
    while True:
        page = await door.names.ListTopics(request, None)
        found += page.topics
        if not page.next_page_token:
            return Response(body=dumps({"topicList": found}))
        request.page_token = page.next_page_token
        # A page from memory does not yield to the loop.
        await asyncio.sleep(0)
