"""Handlers of operators' changes: settings, write permissions, topics and properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from google.protobuf.message import Message
from quorate.v1.batch_pb2 import BatchReply

from quorate_name_server.remoting.door import Door, Handle, RefusedError
from quorate_name_server.remoting.headers import NO_PERMISSION, SYSTEM_ERROR, Request, Response
from quorate_name_server.remoting.java_json import BodyError, dumps, loads
from quorate_name_server.remoting.register_body import queues
from quorate_name_server.remoting.settings import BLACK_LIST, parse
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows

if TYPE_CHECKING:
    from quorate_name_server.remoting.connection import Connection
    from quorate_name_server.remoting.controller import Controller

_QUERY_NOT_FOUND: Final = 22


async def put_setting(door: Door, _: Connection, request: Request) -> Response:
    """Store a value in a namespace."""
    if any(request.fields.get(name) is None for name in ("namespace", "key")):
        raise RefusedError(Response(SYSTEM_ERROR, "namespace or key is null"))
    said = rows.KvConfig(
        namespace=request.text("namespace"), key=request.text("key"), value=request.text("value")
    )
    await door.propose(pb.PutKvConfigs(configs=[said]))
    return Response()


def get_setting(door: Door, _: Connection, request: Request) -> Response:
    """Answer with the value of a setting."""
    namespace, key = request.text("namespace"), request.text("key")
    value = (door.known.settings(namespace) or {}).get(key)
    if value is None:
        remark = f"No config item, Namespace: {namespace} Key: {key}"
        return Response(_QUERY_NOT_FOUND, remark, fields={})
    return Response(fields={"value": value})


async def delete_setting(door: Door, _: Connection, request: Request) -> Response:
    """Delete a setting, if it exists."""
    key = pb.KvConfigKey(namespace=request.text("namespace"), key=request.text("key"))
    await door.propose(pb.DeleteKvConfigs(configs=[key], missing_ok=True))
    return Response()


def list_settings(door: Door, _: Connection, request: Request) -> Response:
    """Answer with all values of a namespace."""
    namespace = request.text("namespace")
    found = door.known.settings(namespace)
    if found is None:
        return Response(_QUERY_NOT_FOUND, f"No config item, Namespace: {namespace}")
    return Response(body=dumps({"table": found}))


def _permitting(kind: Callable[..., Message], field: str) -> Handle:
    """Return a handler that proposes a change of a broker's write permission."""

    async def permit(door: Door, _: Connection, request: Request) -> Response:
        reply = await door.propose(kind(names=[request.text("brokerName")]))
        return Response(fields={field: str(pb.WritePermission.FromString(reply).topics)})

    return permit


wipe_write_permission: Final = _permitting(pb.WipeWritePermission, "wipeTopicCount")
add_write_permission: Final = _permitting(pb.AddWritePermission, "addTopicCount")


async def delete_topic(door: Door, _: Connection, request: Request) -> Response:
    """Delete a topic, or its queues on the brokers of a cluster."""
    said = pb.TopicDeletion(topic=request.text("topic"), cluster=request.text("clusterName"))
    await door.propose(pb.DeleteTopics(topics=[said]))
    return Response()


async def register_topic(door: Door, _: Connection, request: Request) -> Response:
    """Put the queues of a topic on registered brokers."""
    topic = request.text("topic")
    try:
        said = [
            pb.BrokerQueues(topic=topic, broker=each["brokerName"], queues=queues(each))
            for each in loads(request.body or b"{}").get("queueDatas") or ()
        ]
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise BodyError(f"the body is not a route: {error}"[:200]) from None
    if said:
        await door.node.propose(pb.PutQueues(queues=said), BatchReply)
    return Response()


def get_properties(of: Door | Controller, _: Connection, request: Request) -> Response:
    """Answer with the properties."""
    return Response(body=of.settings.text())


async def update_properties(of: Door | Controller, _: Connection, request: Request) -> Response:
    """Change properties, on all nodes."""
    try:
        said = parse(request.body.decode())
    except UnicodeDecodeError:
        raise BodyError("the properties are not UTF-8") from None
    if any(name in said for name in BLACK_LIST):
        raise RefusedError(Response(NO_PERMISSION, "Can not update config in black list."))
    configs = [
        rows.KvConfig(namespace=of.settings.properties.namespace, key=name, value=value)
        for name, value in of.settings.accepted(said).items()
    ]
    if configs:
        await of.propose(pb.PutKvConfigs(configs=configs))
    return Response()
