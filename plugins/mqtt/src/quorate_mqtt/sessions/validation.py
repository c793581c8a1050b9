"""What is wrong with a command whatever the rows say; it is refused before it is logged.

Commands that hold thousands of items are looked at on every way in: most items are right, and are
known to be by few looks.
"""

from typing import Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_bytes, check_name

from quorate_mqtt.names import check_epoch, check_identity, check_qos, check_topic_name
from quorate_mqtt.v1 import sessions_pb2 as pb, wills_pb2

#: The most bytes that a broker keeps in a session.
LARGEST_PAYLOAD: Final = 64 * 1024
#: MQTT counts the bytes of a will's payload, and of its properties, in two bytes.
LARGEST_WILL: Final = 65_535
#: A client id with this many characters fits, whatever they are.
_SHORT: Final = 128


def check_connects(command: pb.ConnectSessions) -> None:
    """Refuse a batch with a wrong connect, and say which one it is."""
    check_process(command)
    known: set[str] = set()
    for position, arrival in enumerate(command.connections):
        client_id = arrival.client_id
        if not (
            arrival.tenant in known
            and 0 < len(client_id) <= _SHORT
            and client_id.isprintable()
            and len(arrival.payload) <= LARGEST_PAYLOAD
            and not arrival.HasField("will")
        ):
            check_arrival(arrival, f"connections[{position}].")
            known.add(arrival.tenant)


def check_process(command: pb.ConnectSessions) -> None:
    """Refuse what names no process of a broker."""
    check_identity("broker", command.broker)
    check_epoch("broker_epoch", command.broker_epoch)


def check_arrival(arrival: pb.SessionConnect, path: str) -> None:
    """Refuse a client without a name, or with a will that cannot be published."""
    check_client(arrival.tenant, arrival.client_id, path)
    _check_payload(arrival.payload, path)
    if arrival.HasField("will"):
        check_will(arrival.will, f"{path}will.")


def check_update(command: pb.UpdateSession, path: str) -> None:
    """Refuse an update of nobody, or by nobody."""
    check_client(command.tenant, command.client_id, path)
    _check_generation(command.generation, path)
    _check_payload(command.payload, path)


def check_updates(command: pb.UpdateSessions) -> None:
    """Refuse a batch with a wrong update, and say which one it is."""
    known: set[str] = set()
    for position, update in enumerate(command.sessions):
        client_id = update.client_id
        if not (
            update.tenant in known
            and 0 < len(client_id) <= _SHORT
            and client_id.isprintable()
            and len(update.payload) <= LARGEST_PAYLOAD
            and update.generation
        ):
            check_update(update, f"sessions[{position}].")
            known.add(update.tenant)


def check_disconnect(command: pb.DisconnectSession, path: str) -> None:
    """Refuse a disconnect by nobody."""
    _check_generation(command.generation, path)


def check_delete(command: pb.DeleteSession, path: str) -> None:
    """Refuse to delete the session of no connection."""
    if command.HasField("generation"):
        _check_generation(command.generation, path)


def check_import(command: pb.ImportSession, path: str) -> None:
    """Refuse a session that would end at once."""
    if command.expiry_interval_s == 0:
        raise Invalid(
            f"{path}expiry_interval_s",
            "must be at least 1: a session without one ends with its connection",
        )
    _check_payload(command.payload, path)


def check_client(tenant: str, client_id: str, path: str = "") -> None:
    """Refuse what names no client."""
    check_name(f"{path}tenant", tenant)
    check_identity(f"{path}client_id", client_id)


def check_will(will: wills_pb2.Will, path: str) -> None:
    """Refuse a will that no broker can publish."""
    check_topic_name(f"{path}topic", will.topic)
    check_qos(f"{path}qos", will.qos)
    check_bytes(f"{path}payload", will.payload, LARGEST_WILL)
    check_bytes(f"{path}properties", will.properties, LARGEST_WILL)


def _check_generation(generation: int, path: str) -> None:
    if generation == 0:
        raise Invalid(f"{path}generation", "must be the one that the connect was answered with")


def _check_payload(payload: bytes, path: str) -> None:
    check_bytes(f"{path}payload", payload, LARGEST_PAYLOAD)
