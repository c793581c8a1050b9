"""Handlers of operators' changes: settings, write permissions, topics and properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from google.protobuf.message import Message
from quorate.v1.batch_pb2 import BatchReply

from quorate_name_server.remoting.door import Door, RefusedError
from quorate_name_server.remoting.fields import text
from quorate_name_server.remoting.headers import Request, Response
from quorate_name_server.remoting.java_json import BodyError, dumps, loads
from quorate_name_server.remoting.register_body import queues
from quorate_name_server.remoting.settings import BLACK_LIST, Settings, parse
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows

if TYPE_CHECKING:
    from quorate_name_server.remoting.connection import Connection

_SYSTEM_ERROR: Final = 1
_NO_PERMISSION: Final = 16
_QUERY_NOT_FOUND: Final = 22


class HasSettings(Protocol):
    """A name server or a controller with properties that tools change."""

    @property
    def settings(self) -> Settings:
        """Return the properties."""

    async def propose(self, command: Message) -> bytes:
        """Propose a command with one item, and return its reply."""


async def put_setting(door: Door, _: Connection, request: Request) -> Response:
    """Store a value in a namespace."""
    fields = request.fields
    if fields.get("namespace") is None or fields.get("key") is None:
        raise RefusedError(Response(_SYSTEM_ERROR, "namespace or key is null"))
    said = rows.KvConfig(
        namespace=text(fields, "namespace"), key=text(fields, "key"), value=text(fields, "value")
    )
    await door.propose(pb.PutKvConfigs(configs=[said]))
    return Response()


def get_setting(door: Door, _: Connection, request: Request) -> Response:
    """Answer with the value of a setting."""
    namespace, key = text(request.fields, "namespace"), text(request.fields, "key")
    value = (door.known.settings(namespace) or {}).get(key)
    if value is None:
        remark = f"No config item, Namespace: {namespace} Key: {key}"
        return Response(_QUERY_NOT_FOUND, remark, fields={})
    return Response(fields={"value": value})


async def delete_setting(door: Door, _: Connection, request: Request) -> Response:
    """Delete a setting, if it exists."""
    key = pb.KvConfigKey(
        namespace=text(request.fields, "namespace"), key=text(request.fields, "key")
    )
    await door.propose(pb.DeleteKvConfigs(configs=[key], missing_ok=True))
    return Response()


def list_settings(door: Door, _: Connection, request: Request) -> Response:
    """Answer with all values of a namespace."""
    namespace = text(request.fields, "namespace")
    found = door.known.settings(namespace)
    if found is None:
        return Response(_QUERY_NOT_FOUND, f"No config item, Namespace: {namespace}")
    return Response(body=dumps({"table": found}))


async def wipe_write_permission(door: Door, _: Connection, request: Request) -> Response:
    """Revoke the write permission of a broker."""
    name = text(request.fields, "brokerName")
    reply = await door.propose(pb.WipeWritePermission(names=[name]))
    return _permitted("wipeTopicCount", reply)


async def add_write_permission(door: Door, _: Connection, request: Request) -> Response:
    """Restore the write permission of a broker."""
    name = text(request.fields, "brokerName")
    reply = await door.propose(pb.AddWritePermission(names=[name]))
    return _permitted("addTopicCount", reply)


async def delete_topic(door: Door, _: Connection, request: Request) -> Response:
    """Delete a topic, or its queues on the brokers of a cluster."""
    said = pb.TopicDeletion(
        topic=text(request.fields, "topic"), cluster=text(request.fields, "clusterName")
    )
    await door.propose(pb.DeleteTopics(topics=[said]))
    return Response()


async def register_topic(door: Door, _: Connection, request: Request) -> Response:
    """Put the queues of a topic on registered brokers."""
    topic = text(request.fields, "topic")
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


def get_properties(of: HasSettings, _: Connection, request: Request) -> Response:
    """Answer with the properties."""
    return Response(body=of.settings.text())


async def update_properties(of: HasSettings, _: Connection, request: Request) -> Response:
    """Change properties, on all nodes."""
    try:
        said = parse(request.body.decode())
    except UnicodeDecodeError:
        raise BodyError("the properties are not UTF-8") from None
    if any(name in said for name in BLACK_LIST):
        raise RefusedError(Response(_NO_PERMISSION, "Can not update config in black list."))
    configs = [
        rows.KvConfig(namespace=of.settings.properties.namespace, key=name, value=value)
        for name, value in of.settings.accepted(said).items()
    ]
    if configs:
        await of.propose(pb.PutKvConfigs(configs=configs))
    return Response()


def _permitted(field: str, reply: bytes) -> Response:
    return Response(fields={field: str(pb.WritePermission.FromString(reply).topics)})
