"""Handlers of requests of brokers and tools to a controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from google.protobuf.message import Message

from quorate_name_server.remoting import controller as codes
from quorate_name_server.remoting.controller import Controller
from quorate_name_server.remoting.door import RefusedError
from quorate_name_server.remoting.headers import Request, Response
from quorate_name_server.remoting.java_json import BodyError, dumps, loads
from quorate_name_server.replication.electing import NO_CANDIDATE
from quorate_name_server.replication.rows import UNKNOWN_REPLICA, replica_of
from quorate_name_server.v1 import replica_sets_pb2 as pb
from quorate_name_server.validation import LARGEST_NUMBER

if TYPE_CHECKING:
    from quorate_name_server.remoting.connection import Connection

M = TypeVar("M", bound=Message)

#: The name of a controller in its answers about the group of controllers.
_GROUP: Final = "quorate"


def metadata(controller: Controller, connection: Connection, _: Request) -> Response:
    """Answer with the leader: the address by which the peer has reached this node.

    Every node acts as a leader as long as it reaches a majority.
    """
    own = connection.own_address
    leader = own if controller.leads else ""
    return Response(
        fields={
            "group": _GROUP,
            "controllerLeaderId": leader,
            "controllerLeaderAddress": leader,
            "isLeader": str(controller.leads).lower(),
            "peers": own,
        }
    )


def next_id(controller: Controller, _: Connection, request: Request) -> Response:
    """Answer with the id that a new replica should apply for."""
    replicas = controller.replicas(request.text("brokerName"))
    following = 1 if replicas is None else replicas.next_id
    return Response(fields={**_names(request), "nextBrokerId": str(following)})


async def apply_id(controller: Controller, _: Connection, request: Request) -> Response:
    """Assign an id to a replica."""
    wanted = _message(
        pb.ReplicaId,
        name=request.text("brokerName"),
        cluster=request.text("clusterName"),
        id=_number(request, "appliedBrokerId"),
        check_code=request.text("registerCheckCode"),
    )
    await controller.propose(pb.ApplyReplicaIds(replicas=[wanted]))
    return Response(fields=_names(request))


async def register(controller: Controller, _: Connection, request: Request) -> Response:
    """Record the address of a replica, and answer with its master, if any."""
    said = _message(
        pb.ReplicaAddress,
        name=request.text("brokerName"),
        id=_number(request, "brokerId"),
        address=request.text("brokerAddress"),
    )
    reply = await controller.propose(pb.RegisterReplicas(replicas=[said]))
    replicas = pb.ReplicaSet.FromString(reply)
    master = replica_of(replicas, replicas.master)
    fields = _names(request)
    if master is not None and master.alive:
        fields |= master_fields(replicas)
    return Response(fields=fields, body=in_sync(replicas))


async def heartbeat(controller: Controller, connection: Connection, request: Request) -> Response:
    """Extend the life of a replica; a recently extended one needs no proposal."""
    replica = request.number("brokerId")
    if replica is None:
        raise RefusedError(Response(codes.INVALID_REQUEST, "Heart beat with empty brokerId"))
    state = _message(
        pb.ReplicaState,
        epoch=_or(request.number("epoch"), -1),
        max_offset=_or(request.number("maxOffset"), -1),
        priority=_or(request.number("electionPriority"), LARGEST_NUMBER),
    )
    beat = _message(
        pb.ReplicaHeartbeat,
        name=request.text("brokerName"),
        id=replica,
        timeout_ms=max(request.number("heartbeatTimeoutMills") or 0, 0),
        state=state,
    )
    if not controller.known.is_fresh(beat):
        await controller.propose(pb.SendReplicaHeartbeats(replicas=[beat]))
        controller.known.prolonged(beat)
    controller.hear(connection, beat.name, beat.id, request.text("brokerAddr"))
    return Response(remark="Heart beat success")


async def elect(controller: Controller, _: Connection, request: Request) -> Response:
    """Elect a master if there is none, or if another one is designated."""
    asking = max(request.number("brokerId") or 0, 0)
    election = _message(
        pb.Election,
        name=request.text("brokerName"),
        id=asking,
        designated=bool(request.boolean("designateElect")),
        unclean=controller.settings.on("enableElectUncleanMaster"),
    )
    own = {} if asking else {NO_CANDIDATE: codes.NO_MASTER}
    reply = await controller.propose(pb.ElectMasters(elections=[election]), own)
    elected = pb.Elected.FromString(reply)
    said: dict[str, Any] = {"syncStateSet": list(elected.set.in_sync)}
    if elected.changed:
        said["brokerMemberGroup"] = {
            "brokerAddrs": {each.id: each.address for each in elected.set.replicas},
            "brokerName": elected.set.name,
            "cluster": elected.set.cluster,
        }
    return Response(
        0 if elected.changed else codes.MASTER_STILL_EXISTS,
        fields=master_fields(elected.set),
        body=dumps(said),
    )


async def alter_in_sync(controller: Controller, _: Connection, request: Request) -> Response:
    """Replace the in-sync set: the replicas with all messages that the master has acknowledged."""
    try:
        said = loads(request.body)
        wanted, epoch = said["syncStateSet"], said["syncStateSetEpoch"]
    except (TypeError, KeyError) as error:
        raise BodyError(f"the body is not a set of replicas: {error}"[:200]) from None
    altered = _message(
        pb.InSyncSet,
        name=request.text("brokerName"),
        master=_number(request, "masterBrokerId"),
        master_epoch=_number(request, "masterEpoch"),
        in_sync=wanted,
        in_sync_epoch=epoch,
    )
    own = {UNKNOWN_REPLICA: codes.INVALID_REPLICAS}
    try:
        reply = await controller.propose(pb.AlterInSyncSets(sets=[altered]), own)
    except RefusedError as refused:
        refused.response.fields = {"newSyncStateSetEpoch": "0"}
        raise
    replicas = pb.ReplicaSet.FromString(reply)
    fields = {"newSyncStateSetEpoch": str(replicas.in_sync_epoch)}
    return Response(fields=fields, body=in_sync(replicas))


def replica_info(controller: Controller, _: Connection, request: Request) -> Response:
    """Answer with the master of a broker and its replicas in sync."""
    name = request.text("brokerName")
    replicas = controller.replicas(name)
    if replicas is None:
        raise RefusedError(Response(codes.NO_METADATA, f"broker {name} has no replicas"))
    fields = master_fields(replicas)
    del fields["syncStateSetEpoch"]
    return Response(fields=fields, body=in_sync(replicas))


def in_sync_data(controller: Controller, _: Connection, request: Request) -> Response:
    """Answer with the replicas of several brokers."""
    names = loads(request.body)
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise BodyError("the body is not a list of brokers")
    found = {name: controller.replicas(name) for name in names}
    table = {name: _replicas_info(each) for name, each in found.items() if each is not None}
    return Response(body=dumps({"replicasInfoTable": table}))


async def clean(controller: Controller, _: Connection, request: Request) -> Response:
    """Remove replicas."""
    said = request.text("brokerControllerIdsToClean")
    try:
        ids = [int(each) for each in said.split(";") if each]
    except ValueError:
        raise RefusedError(
            Response(codes.INVALID_CLEANING, f"{said[:100]} is not a list of ids")
        ) from None
    cleaning = _message(
        pb.ReplicaCleaning,
        name=request.text("brokerName"),
        ids=ids,
        living=bool(request.boolean("isCleanLivingBroker")),
    )
    own = {UNKNOWN_REPLICA: codes.INVALID_CLEANING}
    await controller.propose(pb.CleanReplicas(sets=[cleaning]), own)
    return Response()


def master_fields(replicas: pb.ReplicaSet) -> dict[str, str]:
    """Return the fields on the master of a set for brokers; only epochs if there is none."""
    master = replica_of(replicas, replicas.master)
    fields = {
        "masterEpoch": str(replicas.master_epoch),
        "syncStateSetEpoch": str(replicas.in_sync_epoch),
    }
    if master is not None:
        fields |= {"masterBrokerId": str(master.id), "masterAddress": master.address}
    return fields


def in_sync(replicas: pb.ReplicaSet) -> bytes:
    """Return the replicas in sync, as a body."""
    said = {"syncStateSet": list(replicas.in_sync), "syncStateSetEpoch": replicas.in_sync_epoch}
    return dumps(said)


def _replicas_info(replicas: pb.ReplicaSet) -> dict[str, Any]:
    master = replica_of(replicas, replicas.master)
    said: dict[str, Any] = {
        "inSyncReplicas": [],
        "notInSyncReplicas": [],
        "masterEpoch": replicas.master_epoch,
        "syncStateSetEpoch": replicas.in_sync_epoch,
    }
    if master is not None:
        said |= {"masterBrokerId": master.id, "masterAddress": master.address}
    for each in replicas.replicas:
        state = "inSyncReplicas" if each.id in replicas.in_sync else "notInSyncReplicas"
        said[state].append(
            {
                "alive": each.alive,
                "brokerAddress": each.address,
                "brokerId": each.id,
                "brokerName": replicas.name,
            }
        )
    return said


def _names(request: Request) -> dict[str, str]:
    return {name: request.text(name) for name in ("clusterName", "brokerName")}


def _number(request: Request, name: str) -> int:
    value = request.number(name)
    if value is None:
        raise BodyError(f"{name} is missing or not a number")
    return value


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _message(kind: type[M], **said: Any) -> M:
    """Return a message; raises `BodyError` for values that it cannot hold."""
    try:
        return kind(**said)
    except (TypeError, ValueError) as error:
        raise BodyError(f"the request is not a {kind.__name__}: {error}"[:200]) from None
