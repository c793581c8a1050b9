"""Checks of commands that need no rows; a bad command is rejected before it is logged.

Commands with thousands of items are checked at every entry point: most items are valid, and pass
a quick check.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from quorate.plugin import Invalid
from quorate.plugin.checking import check_bytes, check_each, check_name

from quorate_mqtt.names import check_epoch, check_identity, check_qos, check_topic_name
from quorate_mqtt.shards import column
from quorate_mqtt.v1 import sessions_pb2 as pb, wills_pb2

#: Maximum size of a broker's payload in a session, in bytes.
LARGEST_PAYLOAD: Final = 64 * 1024
#: MQTT encodes the lengths of a will's payload and of its properties in two bytes.
LARGEST_WILL: Final = 65_535
#: The interval of a session that never expires; no other is longer.
NEVER: Final = 0xFFFF_FFFF
#: A client id of up to this many characters is within the limit in bytes.
_SHORT: Final = 128


def check_connects(command: pb.ConnectSessions) -> None:
    """Reject a batch with an invalid connect, and name its position."""
    check_process(command)
    check_each("connections", command.connections, check_arrival)


def check_process(command: pb.ConnectSessions) -> None:
    """Reject a command that does not name a broker and its epoch."""
    check_identity("broker", command.broker)
    check_epoch("broker_epoch", command.broker_epoch)


def check_arrival(arrival: pb.SessionConnect, path: str) -> None:
    """Reject a client without a valid name, or with an invalid payload or will."""
    check_client(arrival.tenant, arrival.client_id, path)
    _check_payload(arrival.payload, path)
    if arrival.HasField("will"):
        check_will(arrival.will, f"{path}will.")


def check_update(command: pb.UpdateSession, path: str) -> None:
    """Reject an update without a client or a generation, or with an invalid payload."""
    check_client(command.tenant, command.client_id, path)
    _check_generation(command.generation, path)
    _check_payload(command.payload, path)


def check_updates(command: pb.UpdateSessions) -> None:
    """Reject a batch with an invalid update, and name its position."""
    check_each("sessions", command.sessions, check_update)


def check_disconnect(command: pb.DisconnectSession, path: str) -> None:
    """Reject a disconnect without a generation."""
    _check_generation(command.generation, path)


def check_delete(command: pb.DeleteSession, path: str) -> None:
    """Reject a deletion with generation 0; the generation may be left out."""
    if command.HasField("generation"):
        _check_generation(command.generation, path)


def check_imports(command: pb.ImportSessions) -> None:
    """Reject a batch with an invalid session, and name its position."""
    sessions = list(command.sessions)
    usual = are_usual(*(column(each, sessions) for each in ("tenant", "client_id", "payload")))
    if not usual or not all(column("expiry_interval_s", sessions)):
        check_each("sessions", sessions, check_import)


def check_import(command: pb.ImportSession, path: str) -> None:
    """Reject a session without a client, or one that would end at once."""
    check_client(command.tenant, command.client_id, path)
    if command.expiry_interval_s == 0:
        raise Invalid(
            f"{path}expiry_interval_s",
            "must be at least 1: a session without one ends with its connection",
        )
    _check_payload(command.payload, path)


def is_usual_import(
    tenant: str, client_id: str, expiry_interval_s: int, payload: bytes | None
) -> bool:
    """Return whether a session certainly passes `check_import`; a quick check."""
    return (
        0 < len(client_id) <= _SHORT
        and client_id.isprintable()
        and expiry_interval_s > 0
        and (payload is None or len(payload) <= LARGEST_PAYLOAD)
        and _is_name(tenant)
    )


def are_usual_imports(
    tenants: Sequence[str],
    client_ids: Sequence[str],
    expiry_intervals_s: Sequence[int],
    payloads: Sequence[bytes | None],
) -> bool:
    """Return whether `is_usual_import` holds for each of one or more sessions."""
    return (
        min(expiry_intervals_s) > 0
        and max(expiry_intervals_s) <= NEVER
        and are_usual(tenants, client_ids, payloads)
    )


def are_usual(
    tenants: Sequence[str], client_ids: Sequence[str], payloads: Iterable[bytes | None]
) -> bool:
    """Return whether clients and what is kept for them are certainly valid; a quick check."""
    return (
        min(map(len, client_ids), default=1) > 0
        and max(map(len, client_ids), default=0) <= _SHORT
        and "".join(client_ids).isprintable()
        and all(map(_is_name, set(tenants)))
        and max(map(len, filter(None, payloads)), default=0) <= LARGEST_PAYLOAD
    )


@lru_cache(maxsize=1_024)
def _is_name(tenant: str) -> bool:
    try:
        check_name("tenant", tenant)
    except Invalid:
        return False
    return True


def check_client(tenant: str, client_id: str, path: str = "") -> None:
    """Reject an invalid tenant or client id."""
    check_name(f"{path}tenant", tenant)
    check_identity(f"{path}client_id", client_id)


def check_will(will: wills_pb2.Will, path: str) -> None:
    """Reject a will that no broker can publish."""
    check_topic_name(f"{path}topic", will.topic)
    check_qos(f"{path}qos", will.qos)
    check_bytes(f"{path}payload", will.payload, LARGEST_WILL)
    check_bytes(f"{path}properties", will.properties, LARGEST_WILL)


def _check_generation(generation: int, path: str) -> None:
    if generation == 0:
        raise Invalid(f"{path}generation", "must be the one that the connect was answered with")


def _check_payload(payload: bytes, path: str) -> None:
    check_bytes(f"{path}payload", payload, LARGEST_PAYLOAD)
