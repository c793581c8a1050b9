"""Commands carried out on a shard: those of one item, as single calls send them, and any other."""

from google.protobuf.message import Message
from quorate.plugin.resource import derive
from quorate.plugin.singles import only_reply
from quorate.testing import MemoryTxn
from quorate.v1.batch_pb2 import BatchReply
from quorate_mqtt.resources import RESOURCES
from quorate_mqtt.sessions import apply
from quorate_mqtt.v1 import sessions_pb2 as pb


def connect_session(txn: MemoryTxn, command: pb.ConnectSession) -> pb.ConnectReply:
    batch = pb.ConnectSessions(
        broker=command.broker, broker_epoch=command.broker_epoch, connections=[command.connection]
    )
    return pb.ConnectReply.FromString(only_reply(apply.connect_sessions(txn, batch)))


def update_session(txn: MemoryTxn, command: pb.UpdateSession) -> None:
    only_reply(apply.update_sessions(txn, pb.UpdateSessions(sessions=[command])))


def disconnect_session(txn: MemoryTxn, command: pb.DisconnectSession) -> pb.DisconnectReply:
    reply = apply.disconnect_sessions(txn, pb.DisconnectSessions(sessions=[command]))
    return pb.DisconnectReply.FromString(only_reply(reply))


def delete_session(txn: MemoryTxn, command: pb.DeleteSession) -> pb.DeleteSessionReply:
    reply = apply.delete_sessions(txn, pb.DeleteSessions(sessions=[command]))
    return pb.DeleteSessionReply.FromString(only_reply(reply))


def import_session(txn: MemoryTxn, command: pb.ImportSession) -> None:
    only_reply(apply.import_sessions(txn, pb.ImportSessions(sessions=[command])))


def carry_out(txn: MemoryTxn, command: Message) -> BatchReply:
    """Carry out a batch command of any resource."""
    found = {each.message: each.apply for each in derive("mqtt", RESOURCES).commands}
    reply = found[type(command)](txn, command)
    assert isinstance(reply, BatchReply)
    return reply
